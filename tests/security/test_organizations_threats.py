"""Rows ORG1 to ORG24: organizations, apart from races."""

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from domain.organizations.roles import STATEMENTS
from tests.conftest import Headers, MakeService
from tests.contract.reading import OPERATIONS
from tests.handlers.organization_steps import (
    MAIL,
    TABLES,
    Request,
    about,
    accept,
    active,
    add,
    ask,
    broken,
    create,
    disown_token,
    do,
    invite,
    invited,
    join,
    secret,
    stored,
)
from tests.handlers.people import Person
from tests.handlers.steps import (
    NEW_PASSWORD,
    UNKNOWN,
    bearer,
    code,
    execute,
    reset_token,
    set_user,
    sign_in,
    token_in,
)
from tests.security.limits import told
from tests.security.mailing import Page, Post, by_smtp, part
from tests.service import BASE_URL, PASSWORD, Service
from tests.smtp_peer import SmtpPeer

GONE = "400 INVITATION_NOT_FOUND"
NOT_MINE = "403 YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION"
UNPROVEN = "403 EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION"
UNSEEN = "403 EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION"
ONLY_OWNER = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"
ROLES = {
    "organizations.statements": json.dumps({"report": ["publish"]}),
    "organizations.roles": json.dumps(
        {"publisher": {"report": ["publish"]}, "recruiter": {"invitation": ["create"], "member": ["update"]}}
    ),
}
"""A role that administrators lack powers of, and one weaker than theirs."""


@pytest.fixture
async def ada(service: Service) -> Person:
    """The owner of Acme, which is active in her session."""
    owner = await add(service, "ada")
    await create(service, owner)
    return owner


@pytest.fixture
async def bob(service: Service) -> Person:
    return await add(service, "bob")


@pytest.fixture
async def peer() -> AsyncIterator[SmtpPeer]:
    peer = SmtpPeer()
    await peer.start()
    yield peer
    await peer.stop()


async def answers(service: Service, caller: Person, key: str) -> list[str]:
    """Return what becomes of an invitation that is read, rejected and accepted."""
    body = {"invitationId": key}
    read = await service.get("/organization/get-invitation", params={"id": key}, headers=caller.headers)
    refused = await service.post("/organization/reject-invitation", body, headers=caller.headers)
    return [code(answer) for answer in (read, refused, await accept(service, caller, key))]


async def status(service: Service, invitation_id: str) -> str:
    [row] = await service.rows("SELECT status FROM invitation WHERE id = :id", id=invitation_id)
    return str(row.status)


class TestRecipients:
    @pytest.mark.threat("ORG1")
    async def test_only_the_invited_address_answers(self, service: Service, ada: Person, bob: Person) -> None:
        eve = await add(service, "eve")
        made = await invite(service, ada, bob.email)

        for key in (made["id"], await secret(service, bob.email)):
            assert await answers(service, eve, key) == [NOT_MINE] * 3

        assert await status(service, made["id"]) == "pending"
        assert (await accept(service, bob, made["id"])).status_code == 200

    @pytest.mark.threat("ORG2")
    async def test_an_address_that_nobody_has_verified_needs_the_secret(
        self, service: Service, ada: Person
    ) -> None:
        made = await invite(service, ada, "bob@example.com")
        squatter = await add(service, "bob", verified=False)

        assert await answers(service, squatter, made["id"]) == [UNSEEN, UNPROVEN, UNPROVEN]
        listed = await service.get("/organization/list-user-invitations", headers=squatter.headers)
        assert code(listed) == UNSEEN

        opened = await accept(service, squatter, await secret(service, "bob@example.com"))
        assert opened.status_code == 200
        [user] = await service.rows('SELECT email_verified FROM "user" WHERE id = :id', id=squatter.id)
        assert not user.email_verified

    @pytest.mark.threat("ORG2")
    async def test_an_id_that_begins_like_a_secret_is_no_proof(self, service: Service, ada: Person) -> None:
        """Ids of imported invitations have the form that another program gave them."""
        made = await invite(service, ada, "bob@example.com")
        await execute(
            service, "UPDATE invitation SET id = 'inv_of_another_program' WHERE id = :id", id=made["id"]
        )
        squatter = await add(service, "bob", verified=False)

        found = await answers(service, squatter, "inv_of_another_program")

        assert found == [UNSEEN, UNPROVEN, UNPROVEN]

    @pytest.mark.threat("ORG14")
    async def test_neither_does_an_address_that_was_only_entered(self, service: Service, ada: Person) -> None:
        made = await invite(service, ada, "bob@example.com")
        eve = await add(service, "eve", verified=False)
        await service.post("/change-email", {"newEmail": "bob@example.com"}, headers=eve.headers)

        assert await answers(service, eve, made["id"]) == [UNSEEN, UNPROVEN, UNPROVEN]

    @pytest.mark.threat("ORG14")
    async def test_nor_one_that_waits_for_its_proof(self, service: Service, ada: Person) -> None:
        made = await invite(service, ada, "bob@example.com")
        eve = await add(service, "eve")
        await service.post("/change-email", {"newEmail": "bob@example.com"}, headers=eve.headers)

        assert await answers(service, eve, made["id"]) == [NOT_MINE] * 3

    async def test_an_invitation_does_not_follow_a_user_to_another_address(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        made = await invite(service, ada, bob.email)
        await execute(
            service,
            "UPDATE \"user\" SET email = 'robert@example.com' WHERE email = :email",
            email=bob.email,
        )

        assert await answers(service, bob, made["id"]) == [NOT_MINE] * 3


class TestSecrets:
    @pytest.mark.threat("ORG3")
    @pytest.mark.both_databases
    async def test_is_in_the_mail_only(
        self, service: Service, ada: Person, bob: Person, log_stream: io.BytesIO
    ) -> None:
        eve, shown = await add(service, "eve"), []

        async def note(method: str, path: str, caller: Person, **values: str) -> None:
            shown.append((await ask(service, (method, path, values), caller.headers)).text)

        secrets, tables = [], []
        for more in ({}, {"resend": "true"}):
            await note("POST", "invite-member", ada, email=bob.email, role="member", **more)
            secrets.append(await secret(service, bob.email))
            tables.append(str(await stored(service)))
            await note("GET", "get-invitation", eve, id=secrets[-1])
            await note("GET", "get-invitation", bob, id=secrets[-1])
            await note("GET", "list-invitations", ada)
            await note("GET", "get-full-organization", ada)
            await note("GET", "list-user-invitations", bob)
        await note("POST", "accept-invitation", bob, invitationId=secrets[0])
        await note("POST", "accept-invitation", bob, invitationId=secrets[1])
        await note("GET", f"no-operation/{secrets[1]}", bob)
        await service.services.audit_writer.flush()

        trail = [tuple(row) for row in await service.rows("SELECT event, details FROM audit")]
        assert {"invitation.sent", "invitation.resent", "invitation.refused", "invitation.accepted"} <= {
            event for event, _ in trail
        }
        tables += [str(await stored(service)), str(await service.rows("SELECT * FROM outbox")), str(trail)]
        log = log_stream.getvalue().decode()
        assert "get-invitation" in log
        written = "\n".join([*shown, *tables, log])
        assert len(set(secrets)) == 2
        assert [each for each in secrets if each in written or each.removeprefix("inv_") in written] == []

    @pytest.mark.threat("ORG4")
    async def test_cannot_be_guessed(self, service: Service, ada: Person, bob: Person) -> None:
        made = await invite(service, ada, bob.email)
        key = await secret(service, bob.email)
        eve = await add(service, "eve")

        assert key.startswith("inv_")
        assert len(key) == 4 + 32
        assert len(set(key)) > 10
        for guess in (
            key[:-1],
            key[:-1] + "~",
            key.removeprefix("inv_"),
            key.upper(),
            made["id"][:-1],
            UNKNOWN,
        ):
            assert await answers(service, eve, guess) == [GONE] * 3
            assert await answers(service, bob, guess) == [GONE] * 3

    @pytest.mark.threat("ORG4")
    async def test_guesses_are_limited(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "20"})
        eve = await add(service, "eve")

        found = [await accept(service, eve, UNKNOWN) for _ in range(25)]

        assert told(found) == {GONE: 20, "429 TOO_MANY_REQUESTS": 5}

    @pytest.mark.threat("ORG5")
    @pytest.mark.parametrize("end", ["used", "canceled", "rejected", "expired", "removed"])
    async def test_opens_nothing_afterwards(
        self, service: Service, ada: Person, bob: Person, end: str
    ) -> None:
        made = await invite(service, ada, bob.email)
        keys = [made["id"], await secret(service, bob.email)]
        if end == "used":
            assert (await accept(service, bob, keys[1])).status_code == 200
            await do(service, "leave", bob.headers, organizationId=made["organizationId"])
        elif end == "canceled":
            await do(service, "cancel-invitation", ada.headers, invitationId=made["id"])
        elif end == "rejected":
            await do(service, "reject-invitation", bob.headers, invitationId=keys[1])
        elif end == "removed":
            await do(service, "delete", ada.headers, organizationId=made["organizationId"])
        else:
            service.clock.advance(hours=48)

        for key in keys:
            assert await answers(service, bob, key) == [GONE] * 3
        assert await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id) == []

    @pytest.mark.threat("ORG5")
    async def test_the_former_one_ends_when_it_is_sent_again(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        former = await invited(service, ada, bob.email)
        service.clock.advance(hours=1)
        key = await invited(service, ada, bob.email, resend=True)

        assert await answers(service, bob, former) == [GONE] * 3
        assert (await accept(service, bob, key)).status_code == 200


class TestRoles:
    @pytest.mark.threat("ORG6")
    @pytest.mark.parametrize(
        "role",
        ["owner", "publisher", "admin,owner", "owner,member", ["owner"], [" owner"], ["admin", "owner"], "OWNER",
         "Owner", "", ",", "admin,,owner", [], [""], "owner ", "own\u0435r", "member,publisher"],
        ids=ascii,
    )  # fmt: skip
    async def test_nobody_invites_above_their_own(
        self, make_service: MakeService, role: str | list[str]
    ) -> None:
        service = await make_service(ROLES)
        ada, bob = await add(service, "ada"), await add(service, "bob")
        acme = (await create(service, ada))["id"]
        await join(service, ada, bob, "admin")
        before = await stored(service)

        answer = await service.post(
            "/organization/invite-member",
            {"email": "eve@example.com", "role": role, "organizationId": acme},
            headers=bob.headers,
        )

        assert answer.status_code in (400, 403)
        assert await stored(service) == before
        assert await service.inbox("eve@example.com") == []

    @pytest.mark.threat("ORG6")
    async def test_nobody_sends_a_stronger_one_again(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        await join(service, ada, bob, "admin")
        await invite(service, ada, "eve@example.com", "owner")
        before = await stored(service)

        answer = await service.post(
            "/organization/invite-member",
            {"email": "eve@example.com", "role": "member", "resend": True},
            headers=bob.headers,
        )

        assert code(answer) == "403 YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE"
        assert await stored(service) == before

    @pytest.mark.threat("ORG7")
    async def test_nobody_climbs_or_reaches_up(self, make_service: MakeService) -> None:
        service = await make_service(ROLES)
        ada, bob, eve = [await add(service, name) for name in ("ada", "bob", "eve")]
        await create(service, ada)
        owner = await join(service, ada, await add(service, "olga"), "owner")
        admin, member = await join(service, ada, bob, "admin"), await join(service, ada, eve)
        recruiter = await join(service, ada, rita := await add(service, "rita"), "recruiter")
        publisher = await join(service, ada, await add(service, "paul"), "publisher")
        before = await stored(service)
        tried = [
            (eve, member, "owner"),
            (eve, member, "admin"),
            (eve, admin, "member"),
            (bob, admin, "owner"),
            (bob, admin, "admin,owner"),
            (bob, admin, "publisher"),
            (bob, owner, "member"),
            (bob, publisher, "member"),
            (rita, recruiter, "admin"),
            (rita, admin, "member"),
        ]

        found = [
            code(
                await service.post(
                    "/organization/update-member-role",
                    {"memberId": who, "role": role},
                    headers=caller.headers,
                )
            )
            for caller, who, role in tried
        ]
        removed = [
            code(
                await service.post(
                    "/organization/remove-member", {"memberIdOrEmail": who}, headers=caller.headers
                )
            )
            for caller, who in ((eve, admin), (bob, owner), (bob, publisher), (rita, member))
        ]

        assert found == ["403 YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER"] * len(tried)
        assert removed == ["403 YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER"] * 4
        assert await stored(service) == before

    @pytest.mark.threat("ORG6", "ORG7")
    async def test_only_owners_make_owners(self, make_service: MakeService) -> None:
        """Also if another role has every permission of theirs."""
        powers = {name: list(actions) for name, actions in STATEMENTS.items()}
        service = await make_service({"organizations.roles": json.dumps({"chief": powers})})
        ada, bob = await add(service, "ada"), await add(service, "bob")
        acme = (await create(service, ada))["id"]
        chief = await join(service, ada, bob, "chief")
        [owner] = await service.rows("SELECT id FROM member WHERE is_owner")
        before = await stored(service)
        tried: list[Request] = [
            ("POST", "invite-member", {"email": "eve@example.com", "role": "owner"}),
            ("POST", "update-member-role", {"memberId": chief, "role": "owner"}),
            ("POST", "update-member-role", {"memberId": owner.id, "role": "member"}),
            ("POST", "remove-member", {"memberIdOrEmail": owner.id}),
        ]

        found = [
            await ask(service, (method, path, {**body, "organizationId": acme}), bob.headers)
            for method, path, body in tried
        ]

        assert [answer.status_code for answer in found] == [403] * 4
        assert await stored(service) == before

    @pytest.mark.threat("ORG7")
    async def test_members_of_another_organization_are_unknown(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        theirs = await join(service, ada, bob)
        eve = await add(service, "eve")
        await create(service, eve, "beta")

        body = {"memberId": theirs, "role": "admin"}
        answer = await service.post("/organization/update-member-role", body, headers=eve.headers)

        assert code(answer) == "400 MEMBER_NOT_FOUND"


class TestScope:
    @pytest.mark.threat("ORG8")
    async def test_objects_of_another_organization_are_unknown(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        member = await join(service, ada, bob)
        team = (await do(service, "create-team", ada.headers, name="Sales"))["id"]
        await do(service, "add-team-member", ada.headers, teamId=team, userId=bob.id)
        invitation = (await invite(service, ada, "new@example.com"))["id"]
        eve = await add(service, "eve")
        beta = (await create(service, eve, "beta"))["id"]
        [own] = await service.rows("SELECT id FROM team WHERE organization_id = :id", id=beta)
        before = await stored(service)

        def tried(member: str, user: str, email: str, team: str, invitation: str) -> list[Request]:
            return [
                ("POST", "update-member-role", {"memberId": member, "role": "admin"}),
                ("POST", "remove-member", {"memberIdOrEmail": member}),
                ("POST", "remove-member", {"memberIdOrEmail": email}),
                ("POST", "cancel-invitation", {"invitationId": invitation}),
                ("POST", "invite-member", {"email": "x@example.com", "role": "member", "teamId": team}),
                ("POST", "update-team", {"teamId": team, "data": {"name": "Taken"}}),
                ("POST", "remove-team", {"teamId": team}),
                ("POST", "set-active-team", {"teamId": team}),
                ("POST", "add-team-member", {"teamId": team, "userId": eve.id}),
                ("POST", "remove-team-member", {"teamId": team, "userId": user}),
                ("POST", "add-team-member", {"teamId": own.id, "userId": user}),
                ("POST", "remove-team-member", {"teamId": own.id, "userId": user}),
                ("GET", "list-team-members", {"teamId": team}),
                ("GET", "list-user-teams", {"userId": user}),
                ("GET", "get-active-member-role", {"userId": user}),
            ]

        foreign = tried(member, bob.id, bob.email, team, invitation)
        unknown = tried(UNKNOWN, UNKNOWN, "nobody@example.com", UNKNOWN, UNKNOWN)
        found = [(await ask(service, each, eve.headers)) for each in foreign]
        assert await stored(service) == before
        expected = [(await ask(service, each, eve.headers)) for each in unknown]

        assert [answer.text for answer in found] == [answer.text for answer in expected]
        statuses = [answer.status_code for answer in found]
        assert statuses == [answer.status_code for answer in expected] == [*[400] * 13, 200, 403]
        assert await stored(service) == before

    @pytest.mark.threat("ORG9")
    async def test_the_named_organization_decides(self, service: Service, ada: Person, bob: Person) -> None:
        """The caller owns another one, which is active; a foreign one is as unknown as one that never was."""
        member = await join(service, ada, bob)
        [team] = await service.rows("SELECT id, organization_id FROM team")
        eve = await add(service, "eve")
        beta = (await create(service, eve, "beta"))["id"]
        before = await stored(service)

        foreign = [
            await ask(service, each, eve.headers) for each in about(team.organization_id, member, team.id)
        ]
        assert {answer.status_code for answer in foreign} == {400, 403}
        assert await stored(service) == before
        unknown = [await ask(service, each, eve.headers) for each in about(UNKNOWN)]

        assert [(answer.status_code, answer.text) for answer in foreign] == [
            (answer.status_code, answer.text) for answer in unknown
        ]
        assert await active(service, eve.headers) == beta

    @pytest.mark.threat("ORG9")
    async def test_neither_does_a_slug_lead_elsewhere(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        await create(service, bob, "beta")
        paths = ("get-organization", "get-full-organization", "list-members", "get-active-member-role")
        requests: list[Request] = [
            *(("GET", path, {"organizationSlug": "acme"}) for path in paths),
            ("POST", "set-active", {"organizationSlug": "acme"}),
        ]

        found = [await ask(service, each, bob.headers) for each in requests]

        assert {answer.status_code for answer in found} == {403}

    @pytest.mark.threat("ORG23")
    async def test_an_administrator_of_the_service_is_no_member(self, service: Service, ada: Person) -> None:
        root = await add(service, "root")
        await set_user(service, root.email, role="admin")
        [acme] = await service.rows("SELECT id FROM organization")
        before = await stored(service)

        found = [await ask(service, each, root.headers) for each in about(acme.id)]

        assert {answer.status_code for answer in found} == {400, 403}
        assert await stored(service) == before


class TestOwners:
    @pytest.mark.threat("ORG10")
    async def test_the_last_one_stays(self, make_service: MakeService) -> None:
        service = await make_service({"delete_user.confirm_by_mail": "false"})
        ada, bob, root = [await add(service, name) for name in ("ada", "bob", "root")]
        await set_user(service, root.email, role="admin")
        acme = (await create(service, ada))["id"]
        await join(service, ada, bob, "admin")
        [owner] = await service.rows("SELECT id FROM member WHERE is_owner")
        named = {"userId": ada.id}

        tried = [
            ("/organization/leave", {"organizationId": acme}, ada),
            ("/organization/remove-member", {"memberIdOrEmail": owner.id}, ada),
            ("/organization/remove-member", {"memberIdOrEmail": ada.email}, ada),
            ("/organization/update-member-role", {"memberId": owner.id, "role": "admin"}, ada),
            ("/delete-user", {"password": PASSWORD}, ada),
            ("/admin/remove-user", named, root),
            ("/admin/ban-user", named, root),
            ("/admin/remove-user", named, root),
        ]
        found = [code(await service.post(path, body, headers=who.headers)) for path, body, who in tried]

        without = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER"
        assert found == [*[ONLY_OWNER] * 3, without, ONLY_OWNER, ONLY_OWNER, "200", ONLY_OWNER]
        assert await broken(service) == []
        assert len(await service.rows("SELECT id FROM member")) == 2

    @pytest.mark.threat("ORG10")
    async def test_no_mail_offers_a_deletion_that_would_be_refused(self, make_service: MakeService) -> None:
        service = await make_service({"delete_user.confirm_by_mail": "true"})
        ada, bob = await add(service, "ada"), await add(service, "bob")
        await create(service, ada)
        link = await service.post("/delete-user", {}, headers=ada.headers)
        assert link.status_code == 200
        token = token_in((await service.inbox(ada.email, "delete-account"))[-1]["link"])
        await join(service, ada, bob)

        again = await service.post("/delete-user", {}, headers=ada.headers)
        used = await service.get("/delete-user/callback", params={"token": token}, headers=ada.headers)

        assert [code(again), code(used)] == [ONLY_OWNER] * 2
        assert len(await service.inbox(ada.email, "delete-account")) == 1
        assert await broken(service) == []

    @pytest.mark.threat("ORG10", "N1")
    async def test_a_disowned_user_leaves_an_owner_behind(self, service: Service) -> None:
        mallory = await add(service, "owner", verified=False)
        acme = (await create(service, mallory))["id"]
        bob, eve = await add(service, "bob"), await add(service, "eve")
        await join(service, mallory, bob)
        await join(service, mallory, eve, "admin")
        token = await disown_token(service, mallory.email)

        assert (await service.post("/disown-account", {"token": token})).status_code == 200

        rows = await service.rows(
            "SELECT user_id, role, is_owner FROM member WHERE organization_id = :id", id=acme
        )
        assert {(row.user_id, row.role, bool(row.is_owner)) for row in rows} == {
            (bob.id, "member", False),
            (eve.id, "owner,admin", True),
        }
        assert await broken(service) == []

    @pytest.mark.threat("ORG10")
    async def test_an_organization_goes_with_its_only_member(self, service: Service, ada: Person) -> None:
        await invite(service, ada, "bob@example.com")
        root = await add(service, "root")
        await set_user(service, root.email, role="admin")

        answer = await service.post("/admin/remove-user", {"userId": ada.id}, headers=root.headers)

        assert answer.status_code == 200
        assert await stored(service) == {table: [] for table in TABLES}


async def _remove(service: Service, ada: Person, who: Person, member: str) -> None:
    await do(service, "remove-member", ada.headers, memberIdOrEmail=member)


async def _leave(service: Service, ada: Person, who: Person, member: str) -> None:
    [row] = await service.rows("SELECT organization_id FROM member WHERE id = :id", id=member)
    await do(service, "leave", who.headers, organizationId=row.organization_id)


async def _demote(service: Service, ada: Person, who: Person, member: str) -> None:
    await do(service, "update-member-role", ada.headers, memberId=member, role="member")


async def _ban(service: Service, ada: Person, who: Person, member: str) -> None:
    await set_user(service, who.email, banned=True)


async def _delete(service: Service, ada: Person, who: Person, member: str) -> None:
    assert (
        await service.post("/delete-user", {"password": PASSWORD}, headers=who.headers)
    ).status_code == 200


async def _removed_behind(service: Service, ada: Person, who: Person, member: str) -> None:
    """As an import does, or an older version."""
    await execute(service, "DELETE FROM member WHERE id = :id", id=member)


async def _demoted_behind(service: Service, ada: Person, who: Person, member: str) -> None:
    await execute(service, "UPDATE member SET role = 'member' WHERE id = :id", id=member)


class TestInviters:
    @pytest.mark.threat("ORG11")
    @pytest.mark.parametrize(
        "end", [_remove, _leave, _demote, _ban, _delete, _removed_behind, _demoted_behind],
        ids=lambda end: end.__name__.strip("_"),
    )  # fmt: skip
    async def test_invitations_end_with_the_right_to_send_them(
        self,
        service: Service,
        ada: Person,
        bob: Person,
        end: Callable[[Service, Person, Person, str], Awaitable[None]],
    ) -> None:
        member = await join(service, ada, bob, "admin")
        eve = await add(service, "eve")
        made = await invite(service, bob, eve.email)
        keys = [made["id"], await secret(service, eve.email)]

        await end(service, ada, bob, member)

        for key in keys:
            assert await answers(service, eve, key) == [GONE] * 3
        assert await service.rows("SELECT id FROM member WHERE user_id = :id", id=eve.id) == []

    @pytest.mark.threat("ORG11")
    @pytest.mark.parametrize("end", [_remove, _leave, _demote], ids=lambda end: end.__name__.strip("_"))
    async def test_they_do_not_come_back_with_the_right(
        self,
        service: Service,
        ada: Person,
        bob: Person,
        end: Callable[[Service, Person, Person, str], Awaitable[None]],
    ) -> None:
        member = await join(service, ada, bob, "admin")
        eve = await add(service, "eve")
        made = await invite(service, bob, eve.email)

        await end(service, ada, bob, member)

        assert await status(service, made["id"]) == "canceled"
        if end is _demote:
            await do(service, "update-member-role", ada.headers, memberId=member, role="admin")
        else:
            await join(service, ada, bob, "admin")
        assert await answers(service, eve, made["id"]) == [GONE] * 3

    @pytest.mark.threat("ORG11")
    async def test_a_demotion_leaves_those_that_are_still_allowed(self, make_service: MakeService) -> None:
        service = await make_service(ROLES)
        ada, bob = await add(service, "ada"), await add(service, "bob")
        await create(service, ada)
        member = await join(service, ada, bob, "admin")
        stays, goes = (
            await invite(service, bob, "a@example.com"),
            await invite(service, bob, "b@example.com", "admin"),
        )

        await do(service, "update-member-role", ada.headers, memberId=member, role="recruiter")

        assert [await status(service, each["id"]) for each in (stays, goes)] == ["pending", "canceled"]

    @pytest.mark.threat("M5")
    async def test_a_mailbox_that_is_proven_takes_the_invitations_of_a_stranger(
        self, service: Service
    ) -> None:
        """Else the stranger's own account would join what the owner of the address keeps."""
        stranger = await add(service, "owner", verified=False)
        await create(service, stranger)
        eve = await add(service, "eve")
        made = await invite(service, stranger, eve.email)
        token = await reset_token(service, stranger.email)

        body = {"token": token, "newPassword": NEW_PASSWORD}
        assert (await service.post("/reset-password", body)).status_code == 200

        assert await answers(service, eve, made["id"]) == [GONE] * 3
        [mail] = await service.inbox(stranger.email, "account-secured")
        assert "invitations: 1" in mail["text"]

    async def test_a_mailbox_that_is_proven_keeps_those_that_let_nobody_in(self, service: Service) -> None:
        stranger = await add(service, "owner", verified=False)
        await create(service, stranger)
        for name in ("bob", "eve"):
            await join(service, stranger, await add(service, name))
        await invite(service, stranger, "late@example.com")
        service.clock.advance(days=3)
        token = await reset_token(service, stranger.email)

        body = {"token": token, "newPassword": NEW_PASSWORD}
        assert (await service.post("/reset-password", body)).status_code == 200

        assert await service.inbox(stranger.email, "account-secured") == []
        rows = await service.rows("SELECT status FROM invitation")
        assert [row.status for row in rows] == ["accepted"] * 2


class TestActiveOrganization:
    @pytest.mark.threat("ORG12")
    @pytest.mark.parametrize("end", [_remove, _leave], ids=lambda end: end.__name__.strip("_"))
    async def test_no_session_keeps_it_without_membership(
        self,
        service: Service,
        ada: Person,
        bob: Person,
        end: Callable[[Service, Person, Person, str], Awaitable[None]],
    ) -> None:
        member = await join(service, ada, bob)
        [acme] = await service.rows("SELECT id FROM organization")
        [team] = await service.rows("SELECT id FROM team")
        await do(service, "add-team-member", ada.headers, teamId=team.id, userId=bob.id)
        other = (await sign_in(service, bob.email)).json()["token"]
        service.client.cookies.clear()
        sessions: list[Headers] = [bob.headers, {"Cookie": f"service.session-token={other}"}]
        for session in sessions:
            await do(service, "set-active", session, organizationId=acme.id)
            await do(service, "set-active-team", session, teamId=team.id)
        assert [await active(service, session) for session in sessions] == [acme.id] * 2

        await end(service, ada, bob, member)

        before = await stored(service)
        for session in sessions:
            shown = (await service.get("/get-session", headers=session)).json()["session"]
            assert {"activeOrganizationId", "activeTeamId"} & shown.keys() == set()
            found = [await ask(service, each, session) for each in about(acme.id, member, team.id)]
            assert {answer.status_code for answer in found} == {400, 403}
            nothing = await service.get("/organization/get-organization", headers=session)
            assert (nothing.status_code, nothing.json()) == (200, None)
        assert await stored(service) == before
        assert await broken(service) == []

    @pytest.mark.threat("ORG12")
    async def test_a_deleted_organization_is_active_nowhere(
        self, service: Service, ada: Person, bob: Person
    ) -> None:
        await join(service, ada, bob)
        [acme] = await service.rows("SELECT id FROM organization")

        await do(service, "delete", ada.headers, organizationId=acme.id)

        assert [await active(service, person.headers) for person in (ada, bob)] == [None, None]

    async def test_a_rotated_session_keeps_it_and_a_new_one_has_none(
        self, service: Service, ada: Person
    ) -> None:
        [acme] = await service.rows("SELECT id FROM organization")
        body = {
            "currentPassword": PASSWORD,
            "newPassword": NEW_PASSWORD,
            "revokeOtherSessions": True,
        }
        before = (await service.get("/get-session", headers=ada.headers)).json()["session"]
        changed = await service.post("/change-password", body, headers=ada.headers)
        service.client.cookies.clear()

        rotated = bearer(changed.json()["token"])
        shown = (await service.get("/get-session", headers=rotated)).json()["session"]
        fresh = bearer((await sign_in(service, ada.email, NEW_PASSWORD)).json()["token"])
        service.client.cookies.clear()

        assert shown["activeOrganizationId"] == before["activeOrganizationId"] == acme.id
        assert shown["activeTeamId"] == before["activeTeamId"]
        assert await active(service, fresh) is None

    @pytest.mark.threat("ORG22")
    async def test_an_impersonator_changes_nothing(self, service: Service, ada: Person, bob: Person) -> None:
        member = await join(service, ada, bob)
        team = (await do(service, "create-team", ada.headers, name="Sales"))["id"]
        waiting = (await invite(service, ada, "new@example.com"))["id"]
        root, eve = await add(service, "root"), await add(service, "eve")
        await create(service, eve, "beta")
        mine = (await invite(service, eve, ada.email))["id"]
        await set_user(service, root.email, role="admin")
        acting = await service.post("/admin/impersonate-user", {"userId": ada.id}, headers=root.headers)
        service.client.cookies.clear()
        session = bearer(acting.json()["session"]["token"])
        [acme] = await service.rows("SELECT id FROM organization WHERE slug = 'acme'")
        named = {"organizationId": acme.id}
        before = await stored(service)

        tried: list[Request] = [
            ("POST", "create", {"name": "New", "slug": "new"}),
            ("POST", "delete", named),
            ("POST", "leave", named),
            ("POST", "invite-member", {**named, "email": "x@example.com", "role": "member"}),
            ("POST", "accept-invitation", {"invitationId": mine}),
            ("POST", "reject-invitation", {"invitationId": mine}),
            ("POST", "cancel-invitation", {"invitationId": waiting}),
            ("POST", "add-member", {**named, "userId": eve.id, "role": "member"}),
            ("POST", "remove-member", {**named, "memberIdOrEmail": member}),
            ("POST", "update-member-role", {**named, "memberId": member, "role": "admin"}),
            ("POST", "create-team", {**named, "name": "New"}),
            ("POST", "update-team", {"teamId": team, "data": {**named, "name": "New"}}),
            ("POST", "remove-team", {**named, "teamId": team}),
            ("POST", "add-team-member", {**named, "teamId": team, "userId": bob.id}),
            ("POST", "remove-team-member", {**named, "teamId": team, "userId": bob.id}),
        ]
        found = [code(await ask(service, each, session)) for each in tried]

        assert found == ["403 NOT_ALLOWED_WHILE_IMPERSONATING"] * len(tried)
        assert await stored(service) == before
        # Looking around is what the session is for; its organization is its own, and ends with the membership.
        await do(service, "set-active", session, **named)
        assert await active(service, session) == acme.id
        await do(service, "delete", ada.headers, **named)
        assert await active(service, session) is None


class TestMails:
    @pytest.mark.threat("ORG15")
    async def test_an_inviter_causes_so_many(self, make_service: MakeService) -> None:
        service = await make_service({"organizations.invitation_mails_per_user": "3"})
        ada = await add(service, "ada")
        await create(service, ada)

        made = [await invite(service, ada, f"user{number}@example.com") for number in range(6)]

        assert len(await service.inbox(template=MAIL)) == 3
        assert {tuple(each) for each in made} == {tuple(made[0])}
        assert {each["status"] for each in made} == {"pending"}
        service.clock.advance(hours=24)
        await invite(service, ada, "user9@example.com")
        assert len(await service.inbox(template=MAIL)) == 4

    @pytest.mark.threat("ORG15")
    @pytest.mark.parametrize("way", ["resend", "cancel", "other organizations"])
    async def test_a_mailbox_gets_so_many(self, make_service: MakeService, way: str) -> None:
        service = await make_service(
            {"limits.mail_burst": "2", "organizations.invitation_mails_per_user": "0"}
        )
        ada = await add(service, "ada")
        await create(service, ada)

        for number in range(6):
            made = await invite(service, ada, "bob@example.com", resend=way == "resend")
            await service.inbox()
            if way == "cancel":
                await do(service, "cancel-invitation", ada.headers, invitationId=made["id"])
            if way == "other organizations":
                await create(service, await add(service, f"eve{number}"), f"other-{number}")
                await create(service, ada, f"another-{number}")

        assert len(await service.inbox("bob@example.com", MAIL)) == 2
        # The link of the last mail that was sent still works.
        if way == "resend":
            bob = await add(service, "bob")
            assert (await accept(service, bob, await secret(service, bob.email))).status_code == 200

    @pytest.mark.threat("ORG16")
    async def test_names_are_shown_as_they_were_typed(
        self, make_service: MakeService, peer: SmtpPeer
    ) -> None:
        service = await make_service({"limits.enabled": "false", **by_smtp(peer.port)})
        post, mails = Post(service, peer), []
        for number, name in enumerate(("Acme", *HOSTILE)):
            inviter = await add(service, f"ada{number}")
            await set_user(service, inviter.email, name=name)
            await service.post(
                "/organization/create", {"name": name, "slug": f"acme-{number}"}, headers=inviter.headers
            )
            await invite(service, inviter, "bob@example.com")
            mails += [mail for mail in await post.delivered() if mail["to"] == "bob@example.com"]

        plain, *hostile = mails
        assert len(hostile) == len(HOSTILE)
        for name, mail in zip(HOSTILE, hostile, strict=True):
            page = Page(part(mail, "html"))
            assert [*mail] == [*plain], name
            assert mail["subject"] == plain["subject"]
            assert page.tags == Page(part(plain, "html")).tags, name
            assert all(link.startswith(f"{BASE_URL}/") for link in page.links), name
            assert name in page.shown.replace("\u2060", ""), name
            assert "evil.test" not in page.shown + part(mail, "plain"), name

    @pytest.mark.threat("ORG16")
    @pytest.mark.parametrize(
        "name", ["Acme\r\nBcc: eve@example.com", "Acme\nTo: x", "A\u202ecme", "A\x00", " "], ids=ascii
    )
    async def test_line_breaks_are_no_names(self, service: Service, ada: Person, name: str) -> None:
        made = await service.post("/organization/create", {"name": name, "slug": "x"}, headers=ada.headers)
        changed = await service.post("/organization/update", {"data": {"name": name}}, headers=ada.headers)
        team = await service.post("/organization/create-team", {"name": name}, headers=ada.headers)

        assert [code(answer) for answer in (made, changed, team)] == ["400 VALIDATION_ERROR"] * 3

    @pytest.mark.threat("ORG17")
    async def test_no_request_moves_the_link(self, service: Service, ada: Person) -> None:
        evil = "https://evil.test/{id}"
        more = dict.fromkeys(
            ("invitationUrl", "invitation_url", "callbackURL", "redirectTo", "link", "url"), evil
        )
        headers = {
            **ada.headers,
            "Origin": BASE_URL,
            "X-Forwarded-Host": "evil.test",
            "Forwarded": "host=evil.test",
        }

        answer = await service.post(
            f"/organization/invite-member?callbackURL={evil}",
            {"email": "bob@example.com", "role": "member", **more},
            headers=headers,
        )

        assert answer.status_code == 200
        [mail] = await service.inbox("bob@example.com")
        assert "evil" not in json.dumps(mail)
        assert mail["link"].startswith(f"{BASE_URL}/account/invitation/inv_")


HOSTILE = (
    '<script>alert("1")</script>',
    '<a href="https://evil.test">Click</a>',
    "{{ 7 * 7 }} ${secret} %(link)s {link} {% raw %}",
    "<img src=//evil.test/x.png onerror=alert(1)>",
    "https://evil.test/win www.evil.test/a",
    "&lt;b&gt;",
)


class TestFields:
    @pytest.mark.threat("ORG18")
    async def test_of_the_service_cannot_be_set(self, service: Service, ada: Person, bob: Person) -> None:
        owned = {
            "id": UNKNOWN, "userId": bob.id, "inviterId": bob.id, "status": "accepted", "isOwner": True,
            "createdAt": "2020-01-01T00:00:00.000Z", "expiresAt": "2099-01-01T00:00:00.000Z", "members": [],
            "secretDigest": "0" * 64, "role": "owner",
        }  # fmt: skip
        beta = await do(service, "create", ada.headers, **owned, name="Beta", slug="beta")
        invitation = await do(
            service, "invite-member", ada.headers, **{**owned, "email": "new@example.com", "role": "member"}
        )
        [acme] = await service.rows("SELECT id FROM organization WHERE slug = 'acme'")
        data = {**owned, "organizationId": acme.id, "name": "New"}
        changed = await do(service, "update", ada.headers, data=data)

        assert [beta["members"][0]["userId"], beta["members"][0]["role"]] == [ada.id, "owner"]
        assert beta["createdAt"] == invitation["createdAt"] == "2026-01-01T12:00:00.000Z"
        assert (invitation["inviterId"], invitation["status"]) == (ada.id, "pending")
        assert invitation["expiresAt"] == "2026-01-03T12:00:00.000Z"
        assert invitation["organizationId"] == beta["id"]
        assert UNKNOWN not in (beta["id"], invitation["id"])
        assert (changed["id"], changed["name"], changed["createdAt"]) == (
            beta["id"],
            "New",
            beta["createdAt"],
        )
        assert await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id) == []

    @pytest.mark.threat("ORG20")
    @pytest.mark.parametrize(
        "slug",
        ["acm\u0435", "\uff41cme", "a cme", "acme/", "-acme", "acme.", "\u212acme", "acme\n", ""],
        ids=ascii,
    )
    async def test_look_alikes_are_no_slugs(self, service: Service, ada: Person, slug: str) -> None:
        body = {"name": "Beta", "slug": slug}
        made = await service.post("/organization/create", body, headers=ada.headers)
        changed = await service.post("/organization/update", {"data": {"slug": slug}}, headers=ada.headers)
        checked = await service.post("/organization/check-slug", {"slug": slug}, headers=ada.headers)

        assert [code(answer) for answer in (made, changed, checked)] == ["400 VALIDATION_ERROR"] * 3

    @pytest.mark.threat("ORG20")
    async def test_capitals_are_the_same_slug(self, service: Service, ada: Person, bob: Person) -> None:
        made = await service.post("/organization/create", {"name": "B", "slug": "ACME"}, headers=bob.headers)
        checked = await service.post("/organization/check-slug", {"slug": "AcMe"}, headers=bob.headers)
        await create(service, bob, "Beta")
        changed = await service.post("/organization/update", {"data": {"slug": "Acme"}}, headers=bob.headers)

        taken = "400 ORGANIZATION_SLUG_ALREADY_TAKEN"
        assert [code(answer) for answer in (made, checked, changed)] == [
            "400 ORGANIZATION_ALREADY_EXISTS",
            taken,
            taken,
        ]
        assert [row.slug for row in await service.rows("SELECT slug FROM organization ORDER BY slug")] == [
            "acme",
            "beta",
        ]

    @pytest.mark.threat("ORG21")
    @pytest.mark.parametrize("kind", ["huge", "deep", "list"])
    async def test_metadata_has_its_bounds(self, service: Service, ada: Person, kind: str) -> None:
        deep: Any = {}
        for _ in range(8):
            deep = {"a": [deep]} if kind == "list" else {"a": deep}
        metadata = {"a": "x" * 60_000} if kind == "huge" else deep
        before = await stored(service)

        body = {"name": "Beta", "slug": "beta", "metadata": metadata}
        made = await service.post("/organization/create", body, headers=ada.headers)
        changed = await service.post(
            "/organization/update", {"data": {"metadata": metadata}}, headers=ada.headers
        )

        assert [code(answer) for answer in (made, changed)] == ["400 VALIDATION_ERROR"] * 2
        assert await stored(service) == before

    @pytest.mark.threat("ORG21")
    async def test_metadata_is_only_data(self, service: Service, ada: Person) -> None:
        metadata = {
            "__proto__": {"role": "owner"},
            "constructor": {"prototype": 1},
            "id": UNKNOWN,
            "slug": "x",
        }

        changed = await do(service, "update", ada.headers, data={"metadata": metadata})
        read = (await service.get("/organization/get-organization", headers=ada.headers)).json()

        assert changed == read
        assert (read["metadata"], read["slug"]) == (metadata, "acme")


class TestDirectory:
    @pytest.mark.threat("ORG19")
    async def test_plain_members_see_only_themselves(self, make_service: MakeService) -> None:
        service = await make_service({"organizations.member_directory": "managers", **ROLES})
        ada, bob, eve = [await add(service, name) for name in ("ada", "bob", "eve")]
        await create(service, ada)
        await join(service, ada, bob)
        await join(service, ada, eve, "recruiter")
        filters = {"filterField": "userId", "filterValue": ada.id}
        asked: list[Request] = [
            ("GET", "list-members", {}),
            ("GET", "list-members", filters),
            ("GET", "list-members", {"sortBy": "userId", "offset": 1, "limit": 500}),
            ("GET", "get-full-organization", {}),
            ("GET", "get-active-member-role", {"userId": ada.id}),
            ("GET", "get-active-member-role", {"userId": UNKNOWN}),
            ("GET", "list-user-teams", {"userId": ada.id}),
            ("GET", "list-invitations", {}),
        ]

        found = [await ask(service, each, bob.headers) for each in asked]

        assert [answer.text for answer in found if ada.email in answer.text or ada.id in answer.text] == []
        assert [answer.status_code for answer in found] == [200, 200, 200, 200, 403, 403, 403, 403]
        assert found[0].json()["total"] == 1
        managers = await ask(service, ("GET", "list-members", {}), eve.headers)
        assert managers.json()["total"] == 3


class TestPaths:
    @pytest.mark.threat("ORG24")
    @pytest.mark.parametrize(
        "path",
        ["//organization/list", "/organization/list/", "/Organization/list", "/organization/List",
         "/organization/%2e%2e/organization/list", "/organization/create-role", "/organization/list-roles",
         "/organization/get-role", "/organization"],
    )  # fmt: skip
    async def test_another_spelling_leads_nowhere(self, service: Service, ada: Person, path: str) -> None:
        for method in ("GET", "POST"):
            answer = await service.client.request(method, BASE_URL + path, headers=ada.headers)
            assert answer.status_code == 404

    @pytest.mark.threat("ORG24")
    @pytest.mark.parametrize("off", ["organizations.enabled", "organizations.teams.enabled"])
    async def test_what_is_off_does_not_exist(self, make_service: MakeService, off: str) -> None:
        both = {"organizations.enabled": "false", "organizations.teams.enabled": "false"}
        whole = off == "organizations.enabled"
        service = await make_service(both if whole else {off: "false"})
        ada = await add(service, "ada")

        found: dict[str, set[int]] = {"organizations": set(), "teams": set()}
        for operation in OPERATIONS.values():
            if (tag := operation.spec["tags"][0]) in found:
                method, path = operation.method.upper(), operation.path
                body: dict[str, str] | None = {} if method == "POST" else None
                answer = await service.client.request(method, path, json=body, headers=ada.headers)
                found[tag].add(answer.status_code)

        assert found["teams"] == {404}
        assert found["organizations"] == {404} if whole else 404 not in found["organizations"]
        shown = (await service.get("/get-session", headers=ada.headers)).json()["session"]
        assert {"activeOrganizationId", "activeTeamId"} & shown.keys() == set()
