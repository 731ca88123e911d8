"""Rows SSO12 and SSO13: directories and users who have left, who were strangers, or whom they have disabled."""

import json
from datetime import timedelta
from typing import Any

import pytest

from domain.organizations import members
from domain.scim.access import DISABLED
from tests.conftest import Headers, MakeService
from tests.handlers import sso_steps
from tests.handlers.organization_steps import add, add_verified, create, invited, post
from tests.handlers.people import Person
from tests.handlers.steps import (
    bearer,
    change_address,
    code,
    execute,
    join,
    reset_token,
    set_user,
)
from tests.handlers.test_user_disowning import BY_MAIL, disown, not_me_token
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.scim import Directory, add_directory, group, user
from tests.security import second_factor
from tests.service import PASSWORD, START, Service

ADA, HOME = "ada@acme.example", "ada@home.example"
ADMINS = json.dumps({"Admins": "admin"})


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(BY_MAIL)


@pytest.fixture
async def boss(service: Service) -> Person:
    return await add(service, "boss")


@pytest.fixture
async def acme(service: Service, boss: Person) -> str:
    return str((await create(service, boss, "acme"))["id"])


@pytest.fixture
async def directory(service: Service, acme: str) -> Directory:
    return await add_directory(service, acme, "acme.example", group_roles=ADMINS)


async def roles(service: Service, organization_id: str) -> dict[str, str]:
    """Return the roles of the members by address."""
    found = await service.rows(
        'SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id WHERE m.organization_id = :id',
        id=organization_id,
    )
    return {row.email: row.role for row in found}


async def account(service: Service, user_id: str) -> Any:
    """Return the row of a user."""
    [row] = await service.rows('SELECT * FROM "user" WHERE id = :id', id=user_id)
    return row


async def sign_in(service: Service, email: str, *, new_password: bool = False) -> Headers:
    """Return a session; with a password of a user who has none yet, if `new_password`."""
    if new_password:
        token = await reset_token(service, email)
        await service.post("/reset-password", {"token": token, "newPassword": PASSWORD})
    answer = await second_factor.sign_in(service, email)
    service.client.cookies.clear()
    return bearer(answer.json()["token"])


async def taken_over(service: Service, boss: Person, directory: Directory, role: str = "member") -> Person:
    """Return a member with a verified address of the directory, which has found them by its list."""
    ada = await add_verified(service, ADA)
    await post(service, ada, "accept-invitation", invitationId=await invited(service, boss, ADA, role))
    await directory.get("/Users")
    return ada


async def lose_domain(service: Service) -> None:
    await execute(service, "UPDATE sso_domain SET verified_at = NULL")


@pytest.mark.threat("SSO12")
class TestStrangers:
    @pytest.fixture
    async def stranger(self, service: Service) -> second_factor.Owner:
        """Return the account of an address that is somebody else's, with a second factor."""
        return await second_factor.enrol_again(service, ADA, await join(service, ADA))

    @pytest.mark.parametrize("active", [True, False])
    async def test_are_not_added(
        self, service: Service, acme: str, directory: Directory, stranger: second_factor.Owner, active: bool
    ) -> None:
        answer = await directory.send("POST", "/Users", user(ADA, active=active))

        assert (answer.status_code, answer.json()["scimType"]) == (409, "uniqueness")
        assert ADA not in await roles(service, acme)

    async def test_are_not_found(self, service: Service, stranger: second_factor.Owner) -> None:
        whole = await add_directory(service, None, "acme.example", name="whole")

        found = await whole.get("/Users", filter=f'userName eq "{ADA}"')

        assert found["totalResults"] == 0

    @pytest.mark.threat("N2")
    async def test_lose_their_tokens_when_the_owner_of_the_address_deletes_the_account(
        self, service: Service
    ) -> None:
        colleague, session = await add(service, "colleague"), await join(service, ADA)
        not_me = await not_me_token(service, email=ADA)
        made = await service.post("/organization/create", {"name": "Own", "slug": "own"}, headers=session)
        await service.services.unit_of_work.run(
            lambda ctx: members.add_directly(ctx, made.json()["id"], colleague.id, ["member"])
        )
        directory = await add_directory(service, made.json()["id"])
        body = {"providerId": "acme", "name": "x"}
        token = (await service.post("/scim/create-token", body, headers=session)).json()["secret"]
        assert await disown(service, not_me) == "200"

        answer = await Directory(service, directory.connection_id, token).send("GET", "/Users")

        assert answer.status_code == 401

    @pytest.mark.threat("M5")
    async def test_lose_their_tokens_when_the_owner_of_the_address_sets_a_password(
        self, service: Service
    ) -> None:
        session = await join(service, ADA)
        made = await service.post("/organization/create", {"name": "Own", "slug": "own"}, headers=session)
        directory = await add_directory(service, made.json()["id"])
        body = {"providerId": "acme", "name": "x"}
        token = (await service.post("/scim/create-token", body, headers=session)).json()["secret"]
        await service.post(
            "/reset-password", {"token": await reset_token(service, ADA), "newPassword": PASSWORD}
        )

        answer = await Directory(service, directory.connection_id, token).send("GET", "/Users")

        assert answer.status_code == 401


@pytest.mark.threat("SSO12")
class TestWhoHasLeft:
    async def test_the_organization_is_not_there(
        self, service: Service, acme: str, boss: Person, directory: Directory
    ) -> None:
        ada = await taken_over(service, boss, directory)
        await post(service, ada, "leave", organizationId=acme)
        await change_address(service, ada.headers, ADA, HOME)

        answers = [
            await directory.send("GET", f"/Users/{ada.id}"),
            await directory.send("PUT", f"/Users/{ada.id}", user(HOME, displayName="Thief")),
            await directory.set_active(ada.id, False),
            await directory.set_active(ada.id, True),
            await directory.send("DELETE", f"/Users/{ada.id}"),
        ]
        listed = await directory.get("/Users")

        assert [answer.status_code for answer in answers] == [404] * 5
        assert [each["userName"] for each in listed["Resources"]] == []
        assert ((await account(service, ada.id)).name, HOME in await roles(service, acme)) == ("Ada", False)

    async def test_is_added_again_by_a_new_request(
        self, service: Service, acme: str, boss: Person, directory: Directory
    ) -> None:
        ada = await taken_over(service, boss, directory)
        await post(service, ada, "leave", organizationId=acme)

        added = await directory.create(ADA)

        assert (added["id"], ADA in await roles(service, acme)) == (ada.id, True)

    async def test_the_domain_is_not_there_if_the_directory_did_not_bring_them(
        self, service: Service, boss: Person, directory: Directory
    ) -> None:
        ada = await taken_over(service, boss, directory)
        await lose_domain(service)

        seen = await directory.send("GET", f"/Users/{ada.id}")
        await directory.send("PUT", f"/Users/{ada.id}", user(ADA, displayName="Thief"))

        assert (seen.status_code, (await account(service, ada.id)).name) == (404, "Ada")

    async def test_the_domain_is_disabled_with_their_former_address(
        self, service: Service, acme: str, directory: Directory
    ) -> None:
        ada = await directory.create(ADA)
        await change_address(service, await sign_in(service, ADA, new_password=True), ADA, HOME)

        answer = await directory.send("PUT", f"/Users/{ada['id']}", user(ADA, active=False, displayName="X"))
        again = await directory.set_active(ada["id"], True)

        assert (answer.status_code, answer.json()["active"], again.status_code) == (200, False, 403)
        row = await account(service, ada["id"])
        assert (row.email, row.name, HOME in await roles(service, acme)) == (HOME, "", False)

    @pytest.mark.parametrize("on_delete", ["disable", "remove"])
    async def test_the_organization_keeps_the_account(
        self, make_service: MakeService, on_delete: str
    ) -> None:
        service = await make_service({"scim.on_delete": on_delete})
        boss = await add(service, "boss")
        acme = str((await create(service, boss, "acme"))["id"])
        directory = await add_directory(service, acme, "acme.example")
        ada = await directory.create(ADA)
        session = await sign_in(service, ADA, new_password=True)
        await change_address(service, session, ADA, HOME)

        answer = await directory.send("DELETE", f"/Users/{ada['id']}")

        assert (answer.status_code, HOME in await roles(service, acme)) == (204, False)
        assert await sign_in(service, HOME)

    async def test_the_company_keeps_the_account_when_another_has_the_domain(
        self, service: Service, directory: Directory
    ) -> None:
        ada = await directory.create(ADA)
        await lose_domain(service)
        other = await create(service, await add(service, "other"), "other")
        await add_directory(service, other["id"], "acme.example", name="other")

        await directory.send("DELETE", f"/Users/{ada['id']}")

        assert not (await account(service, ada["id"])).banned


@pytest.mark.threat("SSO13")
class TestWhoIsDisabled:
    async def test_does_not_come_back_by_an_invitation(
        self, service: Service, acme: str, boss: Person, directory: Directory
    ) -> None:
        ada = await add_verified(service, ADA)
        before = await invited(service, boss, ADA, "admin")
        await directory.create(ADA, active=False)
        after = await invited(service, boss, ADA, "admin")

        answers = [
            await post(service, ada, "accept-invitation", invitationId=each) for each in (before, after)
        ]

        assert [code(answer) for answer in answers] == [
            "400 INVITATION_NOT_FOUND",
            "403 USER_IS_DISABLED_BY_THE_DIRECTORY",
        ]
        assert ADA not in await roles(service, acme)

    async def test_leaves_when_the_directory_removes_them(
        self, service: Service, acme: str, directory: Directory
    ) -> None:
        """They may be a member although they are disabled: from before an update of the service."""
        ada = await directory.create(ADA)
        await execute(service, "UPDATE scim_link SET active = false WHERE user_id = :id", id=ada["id"])

        answer = await directory.send("DELETE", f"/Users/{ada['id']}")

        assert (answer.status_code, ADA in await roles(service, acme)) == (204, False)

    async def test_does_not_come_back_through_another_connection_of_the_organization(
        self, service: Service, provider: ProviderProcess, acme: str
    ) -> None:
        directory = await add_directory(service, acme, "second.example", name="second")
        steps.as_user(provider, ADA, "acme-1", email_verified=True)
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer, organization_id=acme)
        address = "ada@second.example"
        await change_address(service, await sso_steps.enter(service), ADA, address)
        [ada] = (await directory.get("/Users"))["Resources"]
        assert (await directory.set_active(ada["id"], False)).status_code == 200

        answer = await sso_steps.sign_in(service)

        assert steps.error_of(answer) is not None
        assert address not in await roles(service, acme)

    async def test_is_banned_until_the_directory_adds_them_again(
        self, service: Service, directory: Directory
    ) -> None:
        ada = await directory.create(ADA)
        await directory.send("DELETE", f"/Users/{ada['id']}")
        assert (await account(service, ada["id"])).banned

        again = await directory.create(ADA)

        assert (again["id"], (await account(service, ada["id"])).banned) == (ada["id"], False)

    async def test_stays_banned_by_a_directory_of_the_service_when_one_of_an_organization_adds_them(
        self, service: Service, directory: Directory
    ) -> None:
        whole = await add_directory(service, None, "whole.example", name="whole")
        ada = await whole.create("ada@whole.example")
        await execute(service, 'UPDATE "user" SET email = :ada WHERE id = :id', ada=ADA, id=ada["id"])
        await whole.set_active(ada["id"], False)

        await directory.create(ADA)

        row = await account(service, ada["id"])
        assert (row.banned, row.ban_reason) == (True, DISABLED)

    async def test_keeps_the_ban_of_an_administrator(self, service: Service) -> None:
        whole = await add_directory(service, None, "acme.example")
        ada = await whole.create(ADA)
        later = START + timedelta(days=1000)
        await set_user(service, ADA, banned=True, ban_reason="abuse", ban_expires=later)

        await whole.set_active(ada["id"], False)
        await whole.set_active(ada["id"], True)

        row = await account(service, ada["id"])
        assert (row.banned, row.ban_reason, row.ban_expires) == (True, "abuse", None)

    async def test_enables_nobody_with_a_token_of_their_own(self, make_service: MakeService) -> None:
        service = await make_service({"organizations.roles": json.dumps({"it": {"sso": ["manage"]}})})
        boss = await add(service, "boss")
        acme = str((await create(service, boss, "acme"))["id"])
        directory = await add_directory(service, acme, "acme.example")
        ada = await taken_over(service, boss, directory, "it")
        body = {"providerId": "acme", "name": "x"}
        made = await service.post("/scim/create-token", body, headers=ada.headers)
        own = Directory(service, directory.connection_id, made.json()["secret"])
        await directory.set_active(ada.id, False)

        answer = await own.set_active(ada.id, True)

        assert (answer.status_code, ADA in await roles(service, acme)) == (401, False)
        assert (await directory.send("GET", "/Users")).status_code == 200


@pytest.mark.threat("SSO12")
class TestGroups:
    async def test_that_are_gone_give_no_role_when_a_user_is_enabled(
        self, service: Service, acme: str, directory: Directory
    ) -> None:
        ada = await directory.create(ADA)
        admins = (await directory.send("POST", "/Groups", group("Admins", ada["id"]))).json()
        assert (await roles(service, acme))[ADA] == "admin"
        await directory.set_active(ada["id"], False)
        assert (await directory.send("DELETE", f"/Groups/{admins['id']}")).status_code == 204

        await directory.set_active(ada["id"], True)

        assert (await roles(service, acme))[ADA] == "member"

    async def test_are_changed_by_the_directory_only(
        self, service: Service, acme: str, boss: Person, directory: Directory
    ) -> None:
        ada = await taken_over(service, boss, directory)
        team = (await directory.send("POST", "/Groups", group("Sales"))).json()["id"]

        answers = [
            await post(service, boss, "update-team", teamId=team, data={"name": "Admins"}),
            await post(service, boss, "add-team-member", teamId=team, userId=ada.id),
            await post(service, boss, "remove-team-member", teamId=team, userId=ada.id),
            await post(service, boss, "remove-team", teamId=team),
            await post(service, boss, "invite-member", email="x@acme.example", role="member", teamId=team),
        ]

        assert {code(answer) for answer in answers} == {"403 TEAM_IS_MANAGED_BY_A_DIRECTORY"}
        assert (await directory.get(f"/Groups/{team}"))["displayName"] == "Sales"
