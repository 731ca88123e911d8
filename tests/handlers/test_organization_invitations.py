"""Invitations to organizations: send, list and cancel them."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from server.components import cleanup
from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    BOB,
    TEAMS_OFF,
    Company,
    add_verified,
    found_company,
    get,
    outcome,
    post,
)
from tests.handlers.people import Person, add_person
from tests.handlers.steps import AT, UNKNOWN, code, refusal, set_user
from tests.service import Service
from tests.trail import of_event, only, trail

NOT_FOUND = (400, "INVITATION_NOT_FOUND", "Invitation not found")
UNVERIFIED_TO_SEE = (
    403,
    "EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION",
    "Email verification required to view or list invitations for the session email",
)
NO_RANK = (
    403,
    "YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE",
    "You are not allowed to invite a user with this role",
)
IS_MEMBER = (
    400,
    "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION",
    "User is already a member of this organization",
)
IS_INVITED = (
    400,
    "USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION",
    "User is already invited to this organization",
)
EXPIRES_AT = "2026-01-03T12:00:00.000Z"
ROLES = {
    "organizations.roles": json.dumps(
        {"recruiter": {"invitation": ["create"]}, "guest": {}, "publisher": {"organization": ["update"]}}
    )
}


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**TEAMS_OFF, **getattr(request, "param", {})})


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations`."""
    values = {f"organizations.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


async def answer(service: Service, by: Person, name: str, invitation: str) -> Any:
    """Read, accept or reject an invitation."""
    if name == "get-invitation":
        return await get(service, by, name, id=invitation)
    return await post(service, by, name, invitationId=invitation)


@pytest.mark.operation("organizations.invite_member")
class TestInvite:
    async def test_the_link_is_emailed(self, acme: Company) -> None:
        service = acme.service

        invited = await acme.invite("Bob@Example.COM", ["admin", "member"])

        assert invited == {
            "id": invited["id"],
            "organizationId": acme.id,
            "email": BOB,
            "role": "admin,member",
            "status": "pending",
            "inviterId": acme.owner.id,
            "expiresAt": EXPIRES_AT,
            "createdAt": AT,
        }
        [mail] = await service.inbox(BOB, "organization-invitation")
        assert mail["subject"] == "You have been invited to an organization"
        assert re.fullmatch(r"http://localhost:8000/account/invitation/inv_[A-Za-z0-9_-]{32}", mail["link"])
        assert "Ada (owner@acme.example) invited you to join Acme at" in mail["text"]

    async def test_the_record_has_no_address(self, acme: Company) -> None:
        invited = await acme.invite()

        record = await only(acme.service, "invitation.sent")
        assert (record.user_id, record.details["invitation"], record.details["role"]) == (
            acme.owner.id,
            invited["id"],
            "member",
        )
        assert record.details["organizationId"] == acme.id
        assert not any(BOB in str(one.details) for one in await trail(acme.service))

    @settings(invitation_url="http://localhost:8000/join/{id}?from=mail", invitation_expires_in="1h")
    async def test_link_and_lifetime_are_settings(self, acme: Company) -> None:
        body: dict[str, Any] = {
            "callbackURL": "https://evil.example",
            "expiresIn": 1,
            "status": "accepted",
            "inviterId": UNKNOWN,
        }
        invited = await acme.invite(**body)

        [mail] = await acme.service.inbox(BOB)
        assert re.fullmatch(r"http://localhost:8000/join/inv_[A-Za-z0-9_-]{32}\?from=mail", mail["link"])
        assert invited["expiresAt"] == "2026-01-01T13:00:00.000Z"
        assert (invited["status"], invited["inviterId"]) == ("pending", acme.owner.id)

    @pytest.mark.parametrize(
        "service",
        [{"pages.enabled": "false", "oauth.enabled": "false", "console.enabled": "false"}],
        indirect=True,
    )
    async def test_without_pages_the_link_leads_to_the_application(self, acme: Company) -> None:
        await acme.invite()

        [mail] = await acme.service.inbox(BOB)
        assert mail["link"].startswith("http://localhost:8000/accept-invitation/inv_")

    @pytest.mark.parametrize("service", [{"mail.sender": "none"}], indirect=True)
    async def test_without_a_sender_there_is_no_mail(self, acme: Company) -> None:
        invited = await acme.invite()

        assert invited["status"] == "pending"
        assert await acme.service.rows("SELECT id FROM outbox") == []

    async def test_refusals_in_their_order(self, acme: Company) -> None:
        service = acme.service
        wrong = {"email": "x", "role": "unknown"}
        right = {"email": BOB, "role": "member"}
        no_permission = (
            403,
            "YOU_ARE_NOT_ALLOWED_TO_INVITE_USERS_TO_THIS_ORGANIZATION",
            "You are not allowed to invite users to this organization",
        )
        no_role = (400, "ROLE_NOT_FOUND", "Role not found")
        answers = [
            (
                await post(service, acme.member, "invite-member", **wrong),
                (400, "ORGANIZATION_NOT_FOUND", "Organization not found"),
            ),
            (
                await acme.post(acme.outsider, "invite-member", **wrong),
                (400, "INVALID_EMAIL", "Invalid email"),
            ),
            (
                await acme.post(acme.outsider, "invite-member", **{**wrong, "email": BOB}),
                (400, "MEMBER_NOT_FOUND", "Member not found"),
            ),
            (
                await post(service, acme.owner, "invite-member", organizationId=UNKNOWN, **right),
                (400, "MEMBER_NOT_FOUND", "Member not found"),
            ),
            (await acme.post(acme.member, "invite-member", **{**wrong, "email": BOB}), no_permission),
            (await acme.post(acme.admin, "invite-member", **{**wrong, "email": BOB}), no_role),
            (await acme.post(acme.admin, "invite-member", email=acme.member.email, role="owner"), NO_RANK),
            (await acme.post(acme.admin, "invite-member", email=acme.member.email, role="member"), IS_MEMBER),
        ]
        await acme.invite()
        answers.append((await acme.post(acme.admin, "invite-member", **right), IS_INVITED))
        answers.append(
            (
                await acme.post(acme.admin, "invite-member", **{**right, "email": "BOB@example.com"}),
                IS_INVITED,
            )
        )

        assert [refusal(one) for one, _ in answers] == [expected for _, expected in answers]
        assert len(await service.rows("SELECT id FROM invitation")) == 1

    @pytest.mark.parametrize(
        ("role", "expected"),
        [
            ("owner", NO_RANK),
            ("admin,owner", NO_RANK),
            (["member", "owner"], NO_RANK),
            ([" owner"], NO_RANK),
            ("OWNER", (400, "ROLE_NOT_FOUND", "Role not found")),
            ("", (400, "ROLE_NOT_FOUND", "Role not found")),
            ([], (400, "ROLE_NOT_FOUND", "Role not found")),
            ("a" * 32, (400, "ROLE_NOT_FOUND", "Role not found")),
        ],
    )
    async def test_an_administrator_makes_no_owner(
        self, acme: Company, role: object, expected: tuple[int, str, str]
    ) -> None:
        assert refusal(await acme.post(acme.admin, "invite-member", email=BOB, role=role)) == expected
        assert await acme.service.rows("SELECT id FROM invitation") == []

    @pytest.mark.parametrize("service", [ROLES], indirect=True)
    async def test_only_powers_that_the_inviter_has_are_given(self, acme: Company) -> None:
        recruiter = await acme.join("recruiter")
        roles = ("member", "guest", "recruiter", "publisher", "admin", "recruiter,publisher")

        seen = [
            code(await acme.post(recruiter, "invite-member", email=f"{number}@example.com", role=role))
            for number, role in enumerate(roles)
        ]

        assert seen == ["200"] * 3 + [f"403 {NO_RANK[1]}"] * 3

    @settings(invitation_limit=2)
    async def test_an_organization_has_a_limited_number_of_pending_ones(self, acme: Company) -> None:
        await acme.invite("1@example.com")
        second = await acme.invite("2@example.com")
        body = {"email": "3@example.com", "role": "member"}

        refused = await acme.post(acme.owner, "invite-member", **body)
        await post(acme.service, acme.owner, "cancel-invitation", invitationId=second["id"])
        allowed = await acme.post(acme.owner, "invite-member", **body)
        acme.service.clock.advance(hours=48)
        later = [
            await acme.post(acme.owner, "invite-member", **{**body, "email": f"{n}@example.com"})
            for n in "45"
        ]

        assert refusal(refused) == (403, "INVITATION_LIMIT_REACHED", "Invitation limit reached")
        assert [code(one) for one in (allowed, *later)] == ["200"] * 3

    async def test_an_expired_one_is_replaced(self, acme: Company) -> None:
        first = await acme.invite()
        acme.service.clock.advance(hours=48)

        second = await acme.invite()

        assert first["id"] != second["id"]
        assert [await acme.status_of(one) for one in (first, second)] == ["canceled", "pending"]

    async def test_names_are_escaped_in_the_mail(self, acme: Company) -> None:
        service = acme.service
        name = "<b>{{ 7 * 7 }}</b> https://evil.example"
        await acme.post(acme.owner, "update", data={"name": name})
        await set_user(service, acme.owner.email, name="<i>Mallory</i>")

        await acme.invite()

        [mail] = await service.inbox(BOB)
        assert mail["subject"] == "You have been invited to an organization"
        assert "<b>{{" not in mail["html"]
        assert "<i>" not in mail["html"]
        assert "&lt;b&gt;" in mail["html"]

    @settings(invitation_mails_per_user=2)
    async def test_an_inviter_causes_a_limited_number_of_mails(self, acme: Company) -> None:
        for number in range(3):
            assert (await acme.invite(f"{number}@example.com"))["status"] == "pending"
        await acme.invite("other@example.com", by=acme.admin)

        mails = await acme.service.inbox(None, "organization-invitation")

        assert sorted(mail["to"] for mail in mails) == ["0@example.com", "1@example.com", "other@example.com"]
        acme.service.clock.advance(hours=24)
        await acme.invite("late@example.com")
        assert len(await acme.service.inbox("late@example.com")) == 1

    async def test_an_address_gets_a_limited_number_of_mails(self, acme: Company) -> None:
        for _ in range(20):
            invited = await acme.invite()
            await post(acme.service, acme.owner, "cancel-invitation", invitationId=invited["id"])

        assert 1 <= len(await acme.service.inbox(BOB, "organization-invitation")) < 20


@pytest.mark.operation("organizations.invite_member")
class TestInviteAgain:
    async def test_resend_makes_a_new_link_and_expiry(self, acme: Company) -> None:
        service = acme.service
        bob = await add_person(service, email=BOB)
        first = await acme.invite(role="admin")
        old = await acme.secret()
        service.clock.advance(hours=1)

        again = await acme.invite(role="member", resend=True)

        new = await acme.secret()
        assert again == {**first, "expiresAt": "2026-01-03T13:00:00.000Z"}
        assert old != new
        assert refusal(await answer(service, bob, "get-invitation", old)) == NOT_FOUND
        assert (await answer(service, bob, "get-invitation", new)).json()["role"] == "admin"
        assert (await only(service, "invitation.resent")).details["invitation"] == first["id"]

    async def test_without_a_pending_one_it_is_new(self, acme: Company) -> None:
        assert (await acme.invite(resend="true"))["status"] == "pending"
        assert len(await of_event(acme.service, "invitation.sent")) == 1

    async def test_the_rank_is_checked_for_the_role_that_stays(self, acme: Company) -> None:
        await acme.invite(role="owner")

        refused = await acme.post(acme.admin, "invite-member", email=BOB, role="member", resend=True)

        assert refusal(refused) == NO_RANK

    @settings(invitation_mails_per_user=1)
    async def test_the_former_link_stays_if_no_mail_may_be_sent(self, acme: Company) -> None:
        bob = await add_person(acme.service, email=BOB)
        await acme.invite()
        secret = await acme.secret()

        await acme.invite(resend=True)

        assert code(await answer(acme.service, bob, "accept-invitation", secret)) == "200"

    @settings(cancel_pending_on_reinvite=True)
    async def test_a_second_one_may_replace_the_pending_one(self, acme: Company) -> None:
        service = acme.service
        bob = await add_person(service, email=BOB)
        first = await acme.invite()
        old = await acme.secret()

        second = await acme.invite(role="admin")

        assert [await acme.status_of(one) for one in (first, second)] == ["canceled", "pending"]
        assert refusal(await answer(service, bob, "accept-invitation", old)) == NOT_FOUND
        assert (await only(service, "invitation.canceled")).details["invitation"] == first["id"]
        assert code(await answer(service, bob, "accept-invitation", await acme.secret())) == "200"

    @settings(cancel_pending_on_reinvite=True, invitation_limit=1)
    async def test_a_replaced_one_does_not_count(self, acme: Company) -> None:
        await acme.invite()

        assert (await acme.invite())["status"] == "pending"


@pytest.mark.operation("organizations.cancel_invitation")
class TestCancel:
    async def test_a_pending_one_is_canceled(self, acme: Company) -> None:
        invited = await acme.invite()

        canceled = await post(acme.service, acme.admin, "cancel-invitation", invitationId=invited["id"])

        assert canceled.json() == {**invited, "status": "canceled"}
        record = await only(acme.service, "invitation.canceled")
        assert (record.user_id, record.details["invitation"]) == (acme.admin.id, invited["id"])

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        foreign = await other.invite()
        to_owner = await acme.invite("chief@example.com", "owner")
        invited = await acme.invite()
        secret = await acme.secret()
        calls = [
            (acme.owner, UNKNOWN),
            (acme.owner, secret),
            (acme.owner, foreign["id"]),
            (acme.outsider, invited["id"]),
            (acme.member, invited["id"]),
            (acme.admin, to_owner["id"]),
            (acme.owner, to_owner["id"]),
            (acme.owner, to_owner["id"]),
        ]

        answers = [await post(service, by, "cancel-invitation", invitationId=one) for by, one in calls]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_CANCEL_THIS_INVITATION"
        assert [code(one) for one in answers] == [
            *["400 INVITATION_NOT_FOUND"] * 4,
            forbidden,
            forbidden,
            "200",
            "400 INVITATION_NOT_FOUND",
        ]

    async def test_an_expired_one_is_gone(self, acme: Company) -> None:
        invited = await acme.invite()
        acme.service.clock.advance(hours=48)

        gone = await post(acme.service, acme.owner, "cancel-invitation", invitationId=invited["id"])

        assert refusal(gone) == NOT_FOUND


@pytest.mark.operation("organizations.list_invitations")
class TestListInvitations:
    async def test_of_every_status_newest_first(self, acme: Company) -> None:
        service = acme.service
        ids = []
        for number in range(3):
            service.clock.advance(seconds=1)
            ids.append((await acme.invite(f"{number}@example.com"))["id"])
        await post(service, acme.owner, "cancel-invitation", invitationId=ids[1])

        listed = (await get(service, acme.owner, "list-invitations")).json()

        assert [(one["id"], one["status"]) for one in listed] == [
            (ids[2], "pending"),
            (ids[1], "canceled"),
            (ids[0], "pending"),
        ]
        assert "teamId" not in listed[0]

    async def test_those_of_owners_are_for_owners(self, acme: Company) -> None:
        await acme.invite(role="admin,owner")
        await acme.invite("carol@example.com")

        counts = [len((await acme.get(one, "list-invitations")).json()) for one in (acme.owner, acme.admin)]

        assert counts == [2, 1]

    async def test_refusals(self, acme: Company) -> None:
        answers = [
            outcome(await get(acme.service, acme.member, "list-invitations")),
            outcome(await acme.get(acme.outsider, "list-invitations")),
            outcome(await get(acme.service, acme.owner, "list-invitations", organizationId=UNKNOWN)),
            outcome(await acme.get(acme.member, "list-invitations")),
        ]

        assert answers == [
            "400 NO_ACTIVE_ORGANIZATION",
            "403 YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION",
            "403 YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION",
            "403 YOU_ARE_NOT_ALLOWED_TO_LIST_INVITATIONS",
        ]


@pytest.mark.operation("organizations.list_user_invitations")
class TestListUserInvitations:
    async def test_the_pending_ones_of_the_address(self, acme: Company) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        other = await found_company(service, "other")
        first = await acme.invite()
        service.clock.advance(hours=1)
        second = await other.invite(role="admin")
        await other.invite("carol@example.com")

        listed = (await get(service, bob, "list-user-invitations")).json()
        service.clock.advance(hours=47)
        later = (await get(service, bob, "list-user-invitations")).json()

        assert listed == [
            {**second, "organizationName": "Other"},
            {**first, "organizationName": "Acme"},
        ]
        assert [one["id"] for one in later] == [second["id"]]

    @pytest.mark.parametrize(
        "service", [{}, {"organizations.require_verified_email": "false"}], indirect=True
    )
    async def test_the_address_must_be_verified(self, acme: Company) -> None:
        bob = await add_person(acme.service, email=BOB)
        await acme.invite()

        assert refusal(await get(acme.service, bob, "list-user-invitations")) == UNVERIFIED_TO_SEE

    @pytest.mark.parametrize("service", [{"email_verification.enabled": "false"}], indirect=True)
    async def test_without_verification_it_need_not_be(self, acme: Company) -> None:
        bob = await add_person(acme.service, email=BOB)
        await acme.invite()

        assert len((await get(acme.service, bob, "list-user-invitations")).json()) == 1

    async def test_another_address_is_refused(self, acme: Company) -> None:
        bob = await add_verified(acme.service, BOB)

        refused = await get(acme.service, bob, "list-user-invitations", email="carol@example.com")

        assert code(refused) == "400 VALIDATION_ERROR"


async def test_old_invitations_are_deleted(acme: Company) -> None:
    service = acme.service
    await acme.invite()
    service.clock.now += timedelta(hours=48, days=90) - timedelta(seconds=1)
    kept = await _clean_up(service)
    service.clock.advance(seconds=2)

    assert (kept, await _clean_up(service)) == (1, 0)


async def _clean_up(service: Service) -> int:
    """Run the clean-up; return how many invitations are left."""
    await cleanup.delete_expired(service.services.database, service.clock.now)
    return len(await service.rows("SELECT id FROM invitation"))
