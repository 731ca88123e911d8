"""API keys of organizations: the operations of openapi/paths/api_keys.yaml for members and managers."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import MakeService
from tests.handlers.mailed import link_to, open_link
from tests.handlers.people import Person, add_person
from tests.handlers.steps import ADA, bearer, code, execute, set_user, works
from tests.service import Service, close_service, open_service
from tests.settings.api_keys import VERIFIER
from tests.trail import forget, of_event, only

SETTINGS = {
    "api_keys.verifiers": f"files:{VERIFIER}",
    "api_keys.sessions": "true",
    "api_keys.kinds": json.dumps(
        {"team": {"references": "organization", "default_prefix": "org_"}, "ci": {"references": "user"}}
    ),
    "api_keys.grantable": json.dumps({"files": ["read"]}),
    "organizations.enabled": "true",
    "organizations.roles": json.dumps({"keys": {"apiKey": ["create", "read", "update", "delete"]}}),
    "admin.roles": json.dumps({"keeper": {"apiKey": ["manage"], "organization": ["manage"]}}),
}
UNKNOWN_ID = "x" * 32
NOT_MEMBER, LACKING = "403 USER_NOT_MEMBER_OF_ORGANIZATION", "403 INSUFFICIENT_API_KEY_PERMISSIONS"
NO_KEY = "404 KEY_NOT_FOUND"


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with a kind of keys for organizations."""
    return await make_service({**SETTINGS, **getattr(request, "param", {})})


def settings(**names: str) -> pytest.MarkDecorator:
    """Run a test with these settings of `api_keys`."""
    return pytest.mark.parametrize(
        "service", [{f"api_keys.{name}": value for name, value in names.items()}], indirect=True
    )


class Company:
    """An organization with a member for each role, and people who do not belong to it."""

    def __init__(self, service: Service, organization_id: str, people: dict[str, Person]) -> None:
        self.service, self.id, self.people = service, organization_id, people

    async def do(self, who: str, name: str, /, **body: Any) -> Any:
        """Post to an operation of keys; return its body, or status and code of the refusal."""
        return outcome(await self.service.post(f"/api-key/{name}", body, headers=self.people[who].headers))

    async def read(self, who: str, name: str, **query: Any) -> Any:
        return outcome(
            await self.service.get(f"/api-key/{name}", params=query, headers=self.people[who].headers)
        )

    async def create(self, who: str = "owner", **body: Any) -> Any:
        """Create a key of the organization."""
        return await self.do(who, "create", **{"configId": "team", "organizationId": self.id, **body})

    async def verify(self, key: str, **body: Any) -> Any:
        """Return the key, or the code of the refusal."""
        answer = await self.service.post("/api-key/verify", {"key": key, **body}, headers=bearer(VERIFIER))
        verdict = answer.json()
        return verdict["key"] or verdict["error"]["code"]

    async def organize(self, who: str, name: str, /, **body: Any) -> Any:
        """Post to an operation of organizations."""
        answer = await self.service.post(f"/organization/{name}", body, headers=self.people[who].headers)
        assert answer.is_success, answer.text
        return answer.json()

    async def join(self, who: str, role: str) -> None:
        await self.organize(
            "keeper", "add-member", userId=self.people[who].id, role=role, organizationId=self.id
        )

    async def remove(self, who: str) -> None:
        await self.organize(
            "owner", "remove-member", memberIdOrEmail=self.people[who].email, organizationId=self.id
        )


def outcome(answer: httpx.Response) -> Any:
    return answer.json() if answer.is_success else f"{answer.status_code} {answer.json()['code']}"


@pytest.fixture
async def company(service: Service) -> Company:
    names = ("owner", "admin", "member", "keys", "outsider", "other")
    people = {name: await add_person(service, email=f"{name}@example.com") for name in names}
    people["keeper"] = await add_person(service, "keeper")
    made = await service.post(
        "/organization/create", {"name": "Acme", "slug": "acme"}, headers=people["owner"].headers
    )
    company = Company(service, made.json()["id"], people)
    for role in ("admin", "member", "keys"):
        await company.join(role, role)
    # An owner of another organization.
    await company.organize("other", "create", name="Other", slug="other")
    return company


@pytest.mark.operation("api_keys.create")
class TestCreate:
    async def test_it_belongs_to_the_organization(self, company: Company) -> None:
        made = await company.create(name="deploy", permissions={"files": ["read"]})

        assert (made["referenceId"], made["createdBy"]) == (company.id, company.people["owner"].id)
        assert (made["configId"], made["key"][:4]) == ("team", "org_")
        record = await only(company.service, "api_key.created")
        assert record.details["organizationId"] == company.id

    @pytest.mark.threat("KEY3")
    async def test_the_organization_is_checked_before_the_other_fields(self, company: Company) -> None:
        bad = {"metadata": {"a": 1}, "prefix": ""}

        assert await company.do("owner", "create", configId="team", **bad) == "400 ORGANIZATION_ID_REQUIRED"
        assert await company.create("outsider", **bad) == NOT_MEMBER
        assert await company.create("other", **bad) == NOT_MEMBER
        assert await company.create("owner", organizationId=UNKNOWN_ID, **bad) == NOT_MEMBER
        assert await company.create("keeper", organizationId=UNKNOWN_ID, **bad) == NOT_MEMBER
        assert await company.create("member", **bad) == LACKING
        assert await company.create("admin", **bad) == LACKING
        assert await company.create("owner", **bad) == "400 METADATA_DISABLED"
        assert await company.create("outsider", remaining=3) == "400 SERVER_ONLY_PROPERTY"
        assert await company.create("outsider", userId="x") == "401 UNAUTHORIZED_SESSION"
        assert await company.create("owner", permissions={"files": ["write"]}) == "400 SERVER_ONLY_PROPERTY"

    async def test_members_with_the_permission_and_managers_create(self, company: Company) -> None:
        assert (await company.create("keys"))["referenceId"] == company.id
        made = await company.create("keeper", remaining=3)

        assert (made["referenceId"], made["remaining"]) == (company.id, 3)
        assert made["createdBy"] == company.people["keeper"].id

    async def test_keys_of_users_ignore_the_organization(self, company: Company) -> None:
        made = await company.do("outsider", "create", organizationId=company.id, configId="ci")

        assert made["referenceId"] == company.people["outsider"].id

    @pytest.mark.threat("KEY12")
    async def test_every_owner_is_notified_in_an_email_of_their_own(self, company: Company) -> None:
        await company.join("outsider", "owner")
        made = await company.create("keys", name="deploy")

        for who in ("owner", "outsider"):
            [mail] = await company.service.inbox(company.people[who].email, "api-key-created")
            assert "An API key was created for Acme" in mail["text"]
            assert all(part in mail["html"] for part in ("Acme", "deploy", made["start"], "127.0.0.1"))
            assert made["key"] not in json.dumps(mail)
        for who in ("keys", "admin", "member"):
            assert await company.service.inbox(company.people[who].email, "api-key-created") == []

    @pytest.mark.threat("KEY20")
    @pytest.mark.both_databases
    @settings(limit_per_owner="3")
    async def test_the_limit_is_that_of_the_organization(self, company: Company) -> None:
        made = await asyncio.gather(*(company.create(who) for who in ("owner", "keys", "keeper") * 5))

        assert sum(isinstance(one, dict) for one in made) == 3
        assert {one for one in made if isinstance(one, str)} == {"403 API_KEY_LIMIT_REACHED"}
        # The limits of users and of other organizations are their own.
        assert isinstance(await company.do("owner", "create"), dict)
        [(other,)] = await company.service.rows("SELECT id FROM organization WHERE slug = 'other'")
        assert isinstance(await company.create("other", organizationId=other), dict)


@pytest.mark.threat("KEY3")
@pytest.mark.both_databases
class TestCallers:
    """Who may do what with a key of an organization."""

    @pytest.mark.parametrize(
        ("who", "read", "change"),
        [
            ("owner", "", ""),
            ("keys", "", ""),
            ("keeper", "", ""),
            ("admin", "", LACKING),
            ("member", LACKING, LACKING),
            ("outsider", NO_KEY, NO_KEY),
            ("other", NO_KEY, NO_KEY),
        ],
    )
    @pytest.mark.operation("api_keys.get", "api_keys.list_own", "api_keys.update", "api_keys.delete")
    async def test_by_role(self, company: Company, who: str, read: str, change: str) -> None:
        made = await company.create()
        id_ = made["id"]

        shown = await company.read(who, "get", id=id_)
        listed = await company.read(who, "list", organizationId=company.id)
        updated = await company.do(who, "update", keyId=id_, name="new")
        deleted = await company.do(who, "delete", keyId=id_)

        assert read == (shown if isinstance(shown, str) else "")
        assert (NOT_MEMBER if read == NO_KEY else read) == (listed if isinstance(listed, str) else "")
        assert [change] * 2 == [one if isinstance(one, str) else "" for one in (updated, deleted)]
        rows = await company.service.rows("SELECT name FROM api_key WHERE id = :id", id=id_)
        assert [tuple(row) for row in rows] == ([(None,)] if change else [])

    async def test_a_member_who_left_or_lost_the_role_may_nothing(self, company: Company) -> None:
        made = await company.create("keys")
        member = await company.service.rows(
            "SELECT id FROM member WHERE user_id = :id", id=company.people["keys"].id
        )
        await company.organize(
            "owner", "update-member-role", memberId=member[0][0], role="member", organizationId=company.id
        )
        assert await company.do("keys", "delete", keyId=made["id"]) == LACKING
        assert await company.read("keys", "get", id=made["id"]) == LACKING
        await company.remove("keys")

        assert await company.do("keys", "delete", keyId=made["id"]) == NO_KEY
        assert await company.do("keys", "update", keyId=made["id"], enabled=False) == NO_KEY
        assert await company.read("keys", "get", id=made["id"]) == NO_KEY
        assert await company.read("keys", "list", organizationId=company.id) == NOT_MEMBER
        assert await company.create("keys") == NOT_MEMBER
        # The key is the organization's: it stays, and shows who created it.
        kept = await company.verify(made["key"])
        assert (kept["referenceId"], kept["createdBy"]) == (company.id, company.people["keys"].id)

    async def test_the_organization_of_the_key_decides(self, company: Company) -> None:
        """An organization of the caller in the request, or as the active one, opens no key of another."""
        made = await company.create()
        active = await company.service.get("/get-session", headers=company.people["other"].headers)
        own = active.json()["session"]["activeOrganizationId"]

        for more in ({}, {"organizationId": own}, {"configId": "team", "organizationId": own}):
            assert await company.do("other", "update", keyId=made["id"], name="x", **more) == NO_KEY
            assert await company.do("other", "delete", keyId=made["id"], **more) == NO_KEY
        assert await company.do("owner", "delete", keyId=made["id"], configId="ci") == NO_KEY
        assert await company.do("member", "delete", keyId=made["id"], configId="ci") == NO_KEY
        assert (await company.read("other", "list", organizationId=own))["total"] == 0

    async def test_refusals_are_recorded(self, company: Company) -> None:
        await forget(company.service)
        await company.create("member")

        record = await only(company.service, "organization.refused")
        assert (record.code, record.user_id) == (LACKING[4:], company.people["member"].id)


@pytest.mark.operation("api_keys.list_own", "api_keys.list_all")
class TestLists:
    async def test_keys_of_users_and_organizations_are_apart(self, company: Company) -> None:
        made = await company.create(name="team")
        own = await company.do("owner", "create", name="mine")

        listed = await company.read("owner", "list")
        teams = await company.read("owner", "list", organizationId=company.id, configId="team")

        assert [key["id"] for key in listed["apiKeys"]] == [own["id"]]
        assert ([key["id"] for key in teams["apiKeys"]], teams["total"]) == ([made["id"]], 1)
        assert (await company.read("owner", "list", organizationId=company.id, configId="ci"))["total"] == 0
        refused = await company.read("owner", "list", organizationId=company.id, userId="x")
        assert refused == "401 UNAUTHORIZED_SESSION"

    @pytest.mark.both_databases
    async def test_administrators_find_the_owner(self, company: Company) -> None:
        made = await company.create()
        await company.do("owner", "create")

        async def found(**query: Any) -> list[tuple[Any, ...]]:
            answer = await company.service.get(
                "/admin/list-api-keys", params=query, headers=company.people["keeper"].headers
            )
            return [(key["referenceId"], *key["owner"].values()) for key in answer.json()["apiKeys"]]

        owner = company.people["owner"]
        both = [
            (owner.id, owner.id, "Ada", owner.email, None),
            (company.id, company.id, "Acme", None, "acme"),
        ]
        assert sorted(await found()) == sorted(both)
        for name in (company.id, "acme", "ACME"):
            assert await found(owner=name) == both[1:]
        assert await found(owner=owner.email) == both[:1]
        assert await found(owner="nobody") == []
        assert await found(start=made["start"]) == both[1:]


@pytest.mark.both_databases
@pytest.mark.operation("api_keys.verify")
class TestVerify:
    async def test_a_key_of_an_organization_is_valid(self, company: Company) -> None:
        made = await company.create("keys", permissions={"files": ["read"]})

        key = await company.verify(made["key"], permissions={"files": ["read"]}, configId="team")

        assert (key["referenceId"], key["createdBy"]) == (company.id, company.people["keys"].id)
        assert await company.verify(made["key"], configId="ci") == "INVALID_API_KEY"

    async def test_it_stays_without_its_creator(self, company: Company) -> None:
        """A ban or the deletion of a member says nothing about the organization."""
        made = await company.create("keys")
        await set_user(company.service, company.people["keys"].email, banned=True)
        assert isinstance(await company.verify(made["key"]), dict)
        await execute(company.service, 'DELETE FROM "user" WHERE id = :id', id=company.people["keys"].id)

        key = await company.verify(made["key"])

        assert (key["referenceId"], key["createdBy"]) == (company.id, None)

    async def test_it_goes_with_the_organization(self, company: Company) -> None:
        made = await company.create()
        await company.organize("owner", "delete", organizationId=company.id)

        assert await company.verify(made["key"]) == "INVALID_API_KEY"
        assert await company.service.rows("SELECT id FROM api_key") == []

    @pytest.mark.threat("KEY11")
    async def test_it_opens_no_session(self, company: Company) -> None:
        made = await company.create("keeper", remaining=5)

        for more in ({}, company.people["owner"].headers):
            answer = await company.service.get("/get-session", headers={**more, "x-api-key": made["key"]})
            assert code(answer) == "401 INVALID_REFERENCE_ID_FROM_API_KEY"

        # A refused attempt uses nothing up.
        assert (await company.verify(made["key"]))["remaining"] == 4
        records = await of_event(company.service, "api_key.refused")
        told = {(record.user_id, record.details["organizationId"]) for record in records}
        assert told == {(None, company.id)}

    async def test_the_reason_before_the_owner_counts(self, company: Company) -> None:
        made = await company.create()
        await company.do("owner", "update", keyId=made["id"], enabled=False)

        answer = await company.service.get("/get-session", headers={"x-api-key": made["key"]})

        assert code(answer) == "401 KEY_DISABLED"


@pytest.mark.threat("KEY3")
@pytest.mark.both_databases
class TestSwitchedOff:
    """A key survives changes of the settings, but not as the key of somebody else."""

    @pytest.fixture(params=[{}, {"team": {"references": "user"}}])
    async def later(
        self, service: Service, tmp_path: Path, request: pytest.FixtureRequest
    ) -> AsyncIterator[Service]:
        """The service with organizations switched off, and another use of the name of the kind."""
        changed = {
            "organizations.enabled": "false",
            "organizations.teams.enabled": "false",
            "api_keys.kinds": json.dumps(request.param),
        }
        url = service.services.settings.database_url.get_secret_value()
        later = await open_service(url, tmp_path, SETTINGS | changed)
        yield later
        await close_service(later)

    async def test_nobody_but_managers_sees_it(self, company: Company, later: Service) -> None:
        made = await company.create()
        company.service = later

        assert await company.verify(made["key"]) == "INVALID_API_KEY"
        answer = await company.service.get("/get-session", headers={"x-api-key": made["key"]})
        assert code(answer) == "401 INVALID_API_KEY"
        assert await company.read("owner", "get", id=made["id"]) == NO_KEY
        assert await company.do("owner", "delete", keyId=made["id"]) == NO_KEY
        assert await company.read("owner", "list", organizationId=company.id) == NOT_MEMBER
        assert (await company.read("keeper", "get", id=made["id"]))["configId"] == "team"
        assert await company.do("keeper", "delete", keyId=made["id"]) == {"success": True}


@pytest.mark.both_databases
class TestStrangers:
    """Keys of organizations that a stranger created in an account with the address of somebody else."""

    @pytest.fixture
    async def keys(self, company: Company) -> dict[str, Any]:
        """A stranger at Ada's address, and a member, have created a key each."""
        company.people["stranger"] = await add_person(company.service, email=ADA)
        await company.join("stranger", "keys")
        return {who: await company.create(who) for who in ("stranger", "keys")}

    @pytest.mark.threat("M5")
    async def test_they_go_when_the_mailbox_is_proven(self, company: Company, keys: dict[str, Any]) -> None:
        own = await company.do("stranger", "create")

        assert (await open_link(company.service, await link_to(company.service))).status_code == 200

        assert await company.verify(keys["stranger"]["key"]) == "INVALID_API_KEY"
        assert await company.verify(own["key"]) == "INVALID_API_KEY"
        assert isinstance(await company.verify(keys["keys"]["key"]), dict)
        [notice] = await company.service.inbox(ADA, "account-secured")
        assert "API keys: 2" in " ".join(notice["text"].split())
        record = await only(company.service, "user.unproven_access_removed")
        assert record.details["organization_api_keys"] == record.details["api_keys"] == 1

    @pytest.mark.threat("N2")
    async def test_they_go_when_the_owner_of_the_address_deletes_the_account(
        self, company: Company, keys: dict[str, Any]
    ) -> None:
        [mail] = await company.service.inbox(ADA, "api-key-created") or await company.service.inbox(
            ADA, "verify-email"
        )
        token = mail["text"].split("not-me?token=")[1][:32]

        assert (await company.service.post("/disown-account", {"token": token})).status_code == 200

        assert not await works(company.service, company.people["stranger"].headers)
        assert await company.verify(keys["stranger"]["key"]) == "INVALID_API_KEY"
        assert isinstance(await company.verify(keys["keys"]["key"]), dict)
        record = await only(company.service, "api_key.deleted")
        assert (record.details["organizationId"], record.details.get("by")) == (company.id, None)
