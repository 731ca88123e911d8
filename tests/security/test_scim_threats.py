"""Rows SSO12 and SSO13: directories that reach further than they may, and those that empty a company."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from domain import tokens
from domain.organizations import members
from domain.scim.directories import FEWEST_GUARDED, PREFIX
from domain.sso.configuration import encrypt_config
from models.scim_token import ScimToken
from models.sso_connection import ConnectionState
from tests.conftest import MakeService
from tests.handlers import sso_steps
from tests.handlers.organization_steps import add, create
from tests.handlers.people import Person, add_person
from tests.handlers.steps import code, execute, set_user
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.scim import TIMES, Directory, add_directory, group, user
from tests.service import START, Service


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({})


@pytest.fixture
async def owner(service: Service) -> Person:
    return await add(service, "owner")


@pytest.fixture
async def organization(service: Service, owner: Person) -> str:
    return str((await create(service, owner))["id"])


@pytest.fixture
async def directory(service: Service, organization: str) -> Directory:
    return await add_directory(service, organization)


async def roles(service: Service) -> dict[str, str]:
    """Return the roles of all members by address."""
    found = await service.rows('SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id')
    return {row.email: row.role for row in found}


@pytest.mark.threat("SSO12")
class TestTokens:
    @pytest.mark.parametrize("sent", ["", PREFIX, "none", PREFIX + "x" * 32, PREFIX + "x" * 5000])
    async def test_no_other_text_is_one(self, directory: Directory, sent: str) -> None:
        forged = Directory(directory.service, directory.connection_id, sent)

        assert (await forged.send("GET", "/Users")).status_code == 401

    async def test_neither_is_a_session(self, directory: Directory, owner: Person) -> None:
        forged = Directory(directory.service, directory.connection_id, owner.token)

        assert (await forged.send("GET", "/Users")).status_code == 401

    async def test_nor_does_a_token_open_a_session(self, service: Service, directory: Directory) -> None:
        headers = {"authorization": f"Bearer {directory.token}"}

        assert (await service.get("/get-session", headers=headers)).status_code == 401

    async def test_one_that_has_ended_is_none(self, service: Service, organization: str) -> None:
        secret = PREFIX + tokens.token()
        directory = await add_directory(service, organization)
        row = ScimToken(
            id=tokens.token(),
            connection_id=directory.connection_id,
            token=tokens.digest(secret),
            name="short",
            expires_at=START,
            **TIMES,
        )
        async with service.services.database.transaction() as db:
            db.add(row)

        ended = Directory(service, directory.connection_id, secret)

        assert (await ended.send("GET", "/Users")).status_code == 401

    async def test_of_a_paused_connection_is_none(self, service: Service, organization: str) -> None:
        directory = await add_directory(service, organization, state=ConnectionState.PAUSED)

        assert (await directory.send("GET", "/Users")).status_code == 401

    @pytest.mark.operation("scim.create_token")
    @pytest.mark.operation("scim.list_tokens")
    @pytest.mark.operation("scim.revoke_token")
    async def test_are_shown_once_and_end_when_they_are_revoked(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        body = {"providerId": "acme", "name": "Entra ID"}
        made = (await service.post("/scim/create-token", body, headers=owner.headers)).json()
        own = Directory(service, directory.connection_id, made["secret"])
        assert (await own.send("GET", "/Users")).status_code == 200
        listed = await service.get("/scim/list-tokens?providerId=acme", headers=owner.headers)
        assert {each["name"] for each in listed.json()} == {"test", "Entra ID"}
        assert made["secret"] not in listed.text

        ended = {"providerId": "acme", "tokenId": made["token"]["id"]}
        answers = [await service.post("/scim/revoke-token", ended, headers=owner.headers) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [200, 404]
        assert (await own.send("GET", "/Users")).status_code == 401

    async def test_are_managed_by_those_who_manage_the_connection(
        self, service: Service, directory: Directory
    ) -> None:
        stranger = await add(service, "stranger")
        body = {"providerId": "acme", "name": "mine"}

        answer = await service.post("/scim/create-token", body, headers=stranger.headers)
        listed = await service.get("/scim/list-tokens?providerId=acme", headers=stranger.headers)

        assert code(answer) == code(listed) == "404 SSO_PROVIDER_NOT_FOUND"


@pytest.mark.threat("SSO12")
class TestOthers:
    @pytest.fixture
    async def other(self, service: Service) -> Directory:
        organization = await create(service, await add(service, "boss"), "other")
        return await add_directory(service, organization["id"], "other.com", name="other")

    @pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
    @pytest.mark.parametrize("endpoint", ["Users", "Groups"])
    async def test_their_users_and_groups_are_not_there(
        self, directory: Directory, other: Directory, method: str, endpoint: str
    ) -> None:
        ada = await directory.create()
        staff = (await directory.send("POST", "/Groups", group("Staff", ada["id"]))).json()
        path = f"/{endpoint}/{ada['id'] if endpoint == 'Users' else staff['id']}"
        operations = [{"op": "replace", "path": "displayName", "value": "x"}]
        bodies = {
            "PUT": user("ada@other.com") if endpoint == "Users" else group("x"),
            "PATCH": {"Operations": operations},
        }

        answer = await other.send(method, path, bodies.get(method))

        assert answer.status_code == 404
        assert (await directory.get(f"/Users/{ada['id']}"))["userName"] == "ada@example.com"
        assert (await directory.get(f"/Groups/{staff['id']}"))["displayName"] == "Staff"

    async def test_neither_lists_nor_filters_show_them(self, directory: Directory, other: Directory) -> None:
        ada = await directory.create(externalId="7")
        await directory.send("POST", "/Groups", group("Staff", ada["id"], externalId="7"))

        for path in ("/Users", "/Groups"):
            for text in (None, f'id eq "{ada["id"]}"', 'externalId eq "7"', "externalId pr"):
                page = await other.get(path, **({} if text is None else {"filter": text}))
                assert page["totalResults"] == 0

    async def test_their_users_join_no_group(self, directory: Directory, other: Directory) -> None:
        ada = await directory.create()

        answer = await other.send("POST", "/Groups", group("Staff", ada["id"]))

        assert answer.status_code == 400

    async def test_their_addresses_are_not_taken(
        self, service: Service, directory: Directory, other: Directory
    ) -> None:
        eve = await other.create("eve@other.com")

        answers = [
            await other.send("POST", "/Users", user("ada@example.com")),
            await other.send("PUT", f"/Users/{eve['id']}", user("ada@example.com")),
            await other.send("POST", "/Users", user("ada@other.com.example.com")),
        ]

        assert [answer.status_code for answer in answers] == [403, 403, 403]

    async def test_a_user_who_has_left_the_domain_keeps_their_address(
        self, service: Service, directory: Directory
    ) -> None:
        ada = await directory.create()
        await execute(service, "UPDATE \"user\" SET email = 'ada@home.net' WHERE id = :id", id=ada["id"])

        answer = await directory.send(
            "PUT", f"/Users/{ada['id']}", user("new@example.com", displayName="New")
        )

        assert (answer.status_code, answer.json()["userName"]) == (200, "ada@home.net")
        [row] = await service.rows('SELECT email, name FROM "user" WHERE id = :id', id=ada["id"])
        assert (row.email, row.name) == ("ada@home.net", "")

    async def test_a_user_whom_others_have_too_stays(self, service: Service, directory: Directory) -> None:
        ada = await directory.create()
        boss = await add(service, "boss")
        other = await create(service, boss, "other")
        await service.services.unit_of_work.run(
            lambda ctx: members.add_directly(ctx, other["id"], ada["id"], ["member"])
        )

        await directory.send("DELETE", f"/Users/{ada['id']}")

        [row] = await service.rows('SELECT banned FROM "user" WHERE id = :id', id=ada["id"])
        assert not row.banned


@pytest.mark.threat("SSO12")
class TestPowers:
    async def test_an_owner_is_not_touched(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        [shown] = (await directory.get("/Users"))["Resources"]
        assert shown["id"] == owner.id

        answers = [
            await directory.set_active(owner.id, False),
            await directory.send("PUT", f"/Users/{owner.id}", user("eve@example.com")),
            await directory.send("DELETE", f"/Users/{owner.id}"),
        ]

        assert [answer.status_code for answer in answers] == [403, 403, 403]
        assert {answer.json()["scimType"] for answer in answers} == {"mutability"}
        assert await roles(service) == {"owner@example.com": "owner"}

    async def test_nor_is_an_administrator_of_the_service(self, service: Service) -> None:
        directory = await add_directory(service)
        root = await add_person(service, "admin", "root@example.com")
        await set_user(service, root.email, email_verified=True)
        await directory.create("root@example.com")

        assert (await directory.set_active(root.id, False)).status_code == 403
        assert (await service.get("/get-session", headers=root.headers)).status_code == 200

    async def test_neither_is_disabled_when_a_directory_adds_them(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        whole = await add_directory(service, None, "service.com", name="whole")
        root = await add_person(service, "admin", "root@service.com")

        answers = [
            await directory.send("POST", "/Users", user("owner@example.com", active=False)),
            await whole.send("POST", "/Users", user("root@service.com", active=False)),
        ]

        assert [answer.status_code for answer in answers] == [403, 403]
        assert await roles(service) == {"owner@example.com": "owner"}
        assert (await service.get("/get-session", headers=root.headers)).status_code == 200

    async def test_a_disabled_user_who_became_an_administrator_is_not_removed(self, service: Service) -> None:
        directory = await add_directory(service)
        ada = await directory.create(active=False)
        await set_user(service, "ada@example.com", role="admin", banned=False, ban_reason=None)

        assert (await directory.send("DELETE", f"/Users/{ada['id']}")).status_code == 403
        [row] = await service.rows('SELECT banned FROM "user" WHERE id = :id', id=ada["id"])
        assert not row.banned

    async def test_nobody_becomes_an_owner(self, service: Service, organization: str) -> None:
        rules = '{"Bosses": "owner"}'
        directory = await add_directory(service, organization, default_role="owner", group_roles=rules)
        ada = await directory.create()

        await directory.send("POST", "/Groups", group("Bosses", ada["id"]))

        assert (await roles(service))["ada@example.com"] == "member"

    async def test_no_owner_is_demoted_by_a_group(
        self, service: Service, organization: str, owner: Person
    ) -> None:
        directory = await add_directory(service, organization, group_roles='{"Staff": "member"}')
        await directory.get("/Users")

        answer = await directory.send("POST", "/Groups", group("Staff", owner.id))

        assert answer.status_code == 201
        assert await roles(service) == {"owner@example.com": "owner"}

    async def test_no_password_is_set(self, directory: Directory) -> None:
        ada = await directory.create()

        answers = [
            await directory.send("POST", "/Users", user("bob@example.com", password="correct horse")),
            await directory.send("PUT", f"/Users/{ada['id']}", user(password="correct horse")),
            await directory.change(
                f"/Users/{ada['id']}", {"op": "add", "path": "password", "value": "correct horse"}
            ),
        ]

        assert [answer.status_code for answer in answers] == [400, 400, 400]

    async def test_what_a_stranger_prepared_ends_when_the_account_is_taken_over(
        self, service: Service, directory: Directory
    ) -> None:
        stranger = await add(service, "ada", verified=False)

        made = await directory.create("ada@example.com")

        assert made["id"] == stranger.id
        assert (await service.get("/get-session", headers=stranger.headers)).status_code == 401

    async def test_an_unproven_account_is_not_found_by_a_filter(self, service: Service) -> None:
        directory = await add_directory(service)
        await add(service, "ada", verified=False)

        page = await directory.get("/Users", filter='userName eq "ada@example.com"')

        assert page["totalResults"] == 0


@pytest.mark.threat("SSO12")
class TestSizes:
    @pytest.mark.parametrize(
        "text",
        [
            'id eq "' + "x" * 10_000 + '"',
            "(" * 200 + 'id eq "1"' + ")" * 200 + ' and id eq "' + "x" * 1000 + '"',
            'id eq "\' OR 1=1 --"',
            'userName sw "%"',
            'displayName co "___"',
        ],
    )
    async def test_of_filters_are_bounded_and_their_texts_are_texts(
        self, directory: Directory, text: str
    ) -> None:
        await directory.create()

        answer = await directory.send("GET", "/Users", params={"filter": text})

        assert answer.status_code in (200, 400, 414)
        assert answer.status_code != 200 or answer.json()["Resources"] == []

    async def test_a_filter_that_is_too_long_is_refused(self, directory: Directory) -> None:
        value = "x" * (1024 - len('id eq ""'))
        longest, longer = f'id eq "{value}"', f'id eq "{value}x"'

        answer = await directory.send("GET", "/Users", params={"filter": longer})

        assert (await directory.get("/Users", filter=longest))["totalResults"] == 0
        assert (answer.status_code, answer.json().get("scimType")) == (400, "invalidFilter")

    async def test_of_changes_are_bounded(self, directory: Directory) -> None:
        ada = await directory.create()
        operation = {"op": "add", "path": "title", "value": ""}

        answer = await directory.change(f"/Users/{ada['id']}", *[operation] * 1200)

        assert answer.status_code == 400
        assert answer.json()["scimType"] == "tooMany"

    async def test_of_changes_that_copy_the_resource_are_fewer(self, directory: Directory) -> None:
        ada = await directory.create()
        operation = {"op": "add", "path": "title", "value": ""}

        answer = await directory.change(f"/Users/{ada['id']}", *[operation] * 200)

        assert answer.json()["scimType"] == "tooMany"

    async def test_of_changes_of_members_are_bounded(self, directory: Directory) -> None:
        staff = (await directory.send("POST", "/Groups", group("Staff"))).json()
        path, operation = f"/Groups/{staff['id']}", {"op": "remove", "path": "members"}

        assert (await directory.change(path, *[operation] * 900)).status_code == 200
        assert (await directory.change(path, *[operation] * 1200)).json()["scimType"] == "tooMany"

    @pytest.mark.threat("R32")
    async def test_of_nested_values_are_bounded(self, directory: Directory) -> None:
        value: Any = 1
        for _ in range(500):
            value = [value]

        # An attribute that the schema does not have is kept as it is.
        for body in (user(x=value), user(x="\0"), user(title=value)):
            answer = await directory.send("POST", "/Users", body)
            assert (answer.status_code, answer.json().get("scimType")) == (400, "invalidSyntax")

    async def test_of_attributes_are_bounded(self, directory: Directory) -> None:
        answer = await directory.send("POST", "/Users", user(title="x" * 9000))

        assert answer.json()["scimType"] == "tooMany"

    @pytest.mark.both_databases
    @pytest.mark.parametrize("text", ["x" * 257, "x\0"])
    async def test_of_identifiers_and_names_are_bounded(self, directory: Directory, text: str) -> None:
        ada = await directory.create()

        answers = [
            await directory.send("POST", "/Users", user("bob@example.com", externalId=text)),
            await directory.send("PUT", f"/Users/{ada['id']}", user(externalId=text)),
            await directory.send("POST", "/Groups", group("Staff", externalId=text)),
            await directory.send("POST", "/Groups", group(text)),
            await directory.send("POST", "/Groups", group("Staff", ada["id"] + text)),
        ]

        assert [answer.status_code for answer in answers] == [400] * 5

    async def test_a_parameter_is_sent_once(self, directory: Directory) -> None:
        twice = [("filter", 'userName eq "a@example.com"'), ("filter", "active eq true")]

        assert (await directory.send("GET", "/Users", params=twice)).status_code == 400


@pytest.mark.both_databases
@pytest.mark.threat("SSO13")
class TestEmptying:
    async def filled(self, directory: Directory, number: int) -> list[str]:
        """Create users; return their ids."""
        return [(await directory.create(f"u{index}@example.com"))["id"] for index in range(number)]

    @pytest.mark.operation("scim.confirm")
    @pytest.mark.operation("scim.get_directory")
    @pytest.mark.parametrize("way", ["active", "delete"])
    async def test_more_than_half_within_an_hour_are_kept_until_an_owner_confirms(
        self, service: Service, directory: Directory, owner: Person, way: str
    ) -> None:
        ids = await self.filled(directory, FEWEST_GUARDED)

        statuses = [await self.end(directory, id_, way) for id_ in ids]

        half = FEWEST_GUARDED // 2
        assert statuses.count(429) == half
        assert 429 not in statuses[:half]
        state = await service.get("/scim/get-directory?providerId=acme", headers=owner.headers)
        assert state.json()["activeUsers"] == half
        assert state.json()["stoppedAt"] is not None
        confirmed = [
            await service.post("/scim/confirm", {"providerId": "acme"}, headers=owner.headers)
            for _ in range(2)
        ]
        assert [answer.status_code for answer in confirmed] == [200, 409]
        assert await self.end(directory, ids[-1], way) != 429

    async def end(self, directory: Directory, user_id: str, way: str) -> int:
        """Disable or delete a user; return the status."""
        if way == "delete":
            return (await directory.send("DELETE", f"/Users/{user_id}")).status_code
        return (await directory.set_active(user_id, False)).status_code

    async def test_an_hour_later_another_half_may_go(self, service: Service, directory: Directory) -> None:
        ids = await self.filled(directory, FEWEST_GUARDED * 2)
        for id_ in ids[:FEWEST_GUARDED]:
            assert await self.end(directory, id_, "active") == 200

        service.clock.advance(hours=1)

        assert await self.end(directory, ids[-1], "active") == 200

    async def test_a_stopped_directory_stays_so_when_the_hour_is_over(
        self, service: Service, directory: Directory
    ) -> None:
        ids = await self.filled(directory, FEWEST_GUARDED)
        statuses = [await self.end(directory, id_, "active") for id_ in ids]
        assert statuses[-1] == 429

        service.clock.advance(hours=2)

        assert await self.end(directory, ids[-1], "active") == 429

    async def test_users_who_are_disabled_as_they_are_added_count_too(self, service: Service) -> None:
        directory = await add_directory(service)
        await self.filled(directory, FEWEST_GUARDED)
        half = FEWEST_GUARDED // 2
        others = [await add(service, f"other{index}") for index in range(half + 1)]

        added = [await directory.send("POST", "/Users", user(other.email, active=False)) for other in others]

        assert [answer.status_code for answer in added] == [201] * half + [429]
        assert (await service.get("/get-session", headers=others[-1].headers)).status_code == 200

    async def test_a_small_company_is_not_guarded(self, directory: Directory) -> None:
        ids = await self.filled(directory, FEWEST_GUARDED - 1)

        assert {await self.end(directory, id_, "active") for id_ in ids} == {200}


@pytest.mark.both_databases
@pytest.mark.threat("SSO13")
class TestRaces:
    async def test_fifty_changes_at_once_leave_one_whole_state(
        self, service: Service, directory: Directory
    ) -> None:
        ada = await directory.create()

        answers = await asyncio.gather(
            *(directory.set_active(ada["id"], number % 2 == 0) for number in range(50))
        )

        assert {answer.status_code for answer in answers} <= {200, 503}
        is_active = (await directory.get(f"/Users/{ada['id']}"))["active"]
        assert ("ada@example.com" in await roles(service)) == is_active

    async def test_of_fifty_creations_one_succeeds(self, service: Service, directory: Directory) -> None:
        answers = await asyncio.gather(
            *(directory.send("POST", "/Users", user("ada@example.com")) for _ in range(50))
        )

        statuses = [answer.status_code for answer in answers]
        assert statuses.count(201) == 1
        assert set(statuses) <= {201, 409, 503}
        assert len(await service.rows("SELECT id FROM scim_link")) == 1

    async def test_an_old_version_changes_nothing(self, directory: Directory) -> None:
        ada = await directory.create(displayName="Ada")
        path = f"/Users/{ada['id']}"
        await directory.send("PUT", path, user(displayName="Ada King"))

        for method, body in (("PUT", user(displayName="Eve")), ("DELETE", None)):
            late = await directory.send(method, path, body, headers={"if-match": 'W/"1"'})
            assert late.status_code == 412

        assert (await directory.get(path))["displayName"] == "Ada King"

    async def test_no_sign_in_gives_back_what_the_directory_has_ended(
        self, service: Service, organization: str, provider: ProviderProcess
    ) -> None:
        config = encrypt_config(service.services.cipher, sso_steps.oidc(provider))
        directory = await add_directory(
            service, organization, "acme.example", issuer=provider.issuer, config=config
        )
        steps.as_user(provider, sso_steps.ADA, "acme-1")
        await sso_steps.enter(service)
        ada = (await directory.get("/Users", filter=f'userName eq "{sso_steps.ADA}"'))["Resources"][0]
        await directory.set_active(ada["id"], False)

        refused = await sso_steps.sign_in(service)
        await directory.set_active(ada["id"], True)
        wanted = await sso_steps.sign_in(service)

        assert (steps.error_of(refused), steps.error_of(wanted)) == ("user_disabled", None)
        assert (await roles(service))[sso_steps.ADA] == "member"

    @pytest.mark.parametrize("hours", [-1, 1])
    async def test_a_disabled_user_stays_out_when_an_older_ban_ends(
        self, service: Service, hours: int
    ) -> None:
        directory = await add_directory(service)
        ada = await directory.create()
        await set_user(
            service,
            "ada@example.com",
            banned=True,
            ban_reason="Spam",
            ban_expires=START + timedelta(hours=hours),
        )

        await directory.set_active(ada["id"], False)

        [row] = await service.rows('SELECT ban_expires FROM "user" WHERE id = :id', id=ada["id"])
        assert row.ban_expires is None

    async def test_a_ban_by_an_administrator_is_not_lifted(self, service: Service) -> None:
        directory = await add_directory(service)
        ada = await directory.create()
        await directory.set_active(ada["id"], False)
        await set_user(service, "ada@example.com", ban_reason="Fraud")

        await directory.set_active(ada["id"], True)

        [row] = await service.rows('SELECT banned FROM "user" WHERE id = :id', id=ada["id"])
        assert row.banned
