"""The operations of openapi/paths/scim.yaml."""

import asyncio
from typing import Any

import pytest

from domain.organizations.members import add_directly
from domain.scim.totals import COUNTED
from models import User
from models.scim_link import ScimLink
from models.statements import values_of
from tests.conftest import MakeService
from tests.handlers.organization_steps import add, create, post
from tests.handlers.people import Person
from tests.handlers.steps import execute
from tests.rows import insert_many
from tests.rows import user as user_row
from tests.scim import GROUP, USER, Directory, add_directory, changes, group, user
from tests.service import START, Service
from tests.trail import forget, only, trail

ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
NEVER = "not-there"
TIMES = {"created_at": START, "updated_at": START}


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


def refusal(answer: Any) -> tuple[int, str | None]:
    """Return status and keyword of an error of the protocol."""
    body = answer.json()
    assert answer.headers["content-type"] == "application/scim+json"
    assert body["schemas"] == [ERROR]
    assert body["status"] == str(answer.status_code)
    return answer.status_code, body.get("scimType")


async def members(service: Service) -> dict[str, str]:
    """Return the roles of all members by address."""
    found = await service.rows('SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id')
    return {row.email: row.role for row in found}


async def add_many(service: Service, number: int) -> None:
    """Add users to the only directory."""
    [connection] = await service.rows("SELECT id FROM sso_connection")
    users = [user_row(f"u{index}", email_verified=True) for index in range(number)]
    links = [
        {"connection_id": connection.id, "user_id": each.id, "attributes": b"", "id": each.id, **TIMES}
        for each in users
    ]
    async with service.services.database.transaction() as db:
        await insert_many(db, User, [values_of(each) for each in users])
        await insert_many(db, ScimLink, links)


class TestDiscovery:
    @pytest.mark.operation("scim.get_configuration")
    async def test_says_what_is_supported(self, directory: Directory) -> None:
        configuration = await directory.get("/ServiceProviderConfig")

        supported = {
            name: configuration[name]["supported"] for name in ("patch", "bulk", "filter", "sort", "etag")
        }
        assert supported == {"patch": True, "bulk": False, "filter": True, "sort": False, "etag": True}

    @pytest.mark.operation("scim.list_resource_types")
    @pytest.mark.operation("scim.get_resource_type")
    async def test_names_users_and_groups(self, directory: Directory) -> None:
        page = await directory.get("/ResourceTypes")

        assert [each["endpoint"] for each in page["Resources"]] == ["/Users", "/Groups"]
        assert (await directory.get("/ResourceTypes/User"))["endpoint"] == "/Users"
        assert refusal(await directory.send("GET", "/ResourceTypes/Device")) == (404, None)

    @pytest.mark.operation("scim.list_schemas")
    @pytest.mark.operation("scim.get_schema")
    async def test_describes_the_schemas(self, directory: Directory) -> None:
        page = await directory.get("/Schemas")

        assert {USER, GROUP} < {each["id"] for each in page["Resources"]}
        assert (await directory.get(f"/Schemas/{USER}"))["name"] == "User"
        assert refusal(await directory.send("GET", "/Schemas/urn:none")) == (404, None)

    async def test_without_an_organization_there_are_no_groups(self, service: Service) -> None:
        directory = await add_directory(service)

        page = await directory.get("/ResourceTypes")

        assert [each["id"] for each in page["Resources"]] == ["User"]
        assert refusal(await directory.send("GET", "/Groups")) == (501, None)


class TestCreate:
    @pytest.mark.operation("scim.create_user")
    @pytest.mark.operation("scim.get_user")
    async def test_makes_a_verified_member_without_a_password(
        self, service: Service, directory: Directory
    ) -> None:
        made = await directory.create("Ada@Example.com", displayName="Ada", externalId="7", active=True)

        assert made["userName"] == "ada@example.com"
        assert made["externalId"] == "7"
        assert made["meta"]["version"] == 'W/"1"'
        assert await directory.get(f"/Users/{made['id']}") == made
        [row] = await service.rows('SELECT * FROM "user" WHERE id = :id', id=made["id"])
        assert (row.email, row.name, row.email_verified) == ("ada@example.com", "Ada", True)
        assert await service.rows("SELECT id FROM account WHERE user_id = :id", id=made["id"]) == []
        assert (await members(service))["ada@example.com"] == "member"

    @pytest.mark.operation("scim.create_user")
    async def test_says_that_a_user_is_active(self, directory: Directory) -> None:
        made = await directory.create()

        shown = await directory.get(f"/Users/{made['id']}")
        page = await directory.get("/Users")
        await directory.change(f"/Users/{made['id']}", {"op": "remove", "path": "active"})
        replaced = await directory.send("PUT", f"/Users/{made['id']}", user())
        short = await directory.get(f"/Users/{made['id']}", attributes="userName")

        assert made["active"] is shown["active"] is replaced.json()["active"] is True
        assert {each["active"] for each in page["Resources"]} == {True}
        assert "active" not in short

    async def test_keeps_attributes_it_does_not_know(self, directory: Directory) -> None:
        extension = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
        enterprise: dict[str, Any] = {extension: {"department": "Research"}}
        made = await directory.create(schemas=[USER, extension], costCenter="1815", **enterprise)

        shown = await directory.get(f"/Users/{made['id']}")

        assert shown["costCenter"] == "1815"
        assert shown[extension] == {"department": "Research"}

    async def test_takes_over_the_user_with_the_address(self, service: Service, directory: Directory) -> None:
        ada = await add(service, "ada")

        made = await directory.create("ada@example.com")

        assert made["id"] == ada.id
        assert "ada@example.com" in await members(service)

    async def test_refuses_a_second_user_with_an_address_or_identifier(self, directory: Directory) -> None:
        await directory.create("ada@example.com", externalId="7")

        again = await directory.send("POST", "/Users", user("ADA@example.com"))
        other = await directory.send("POST", "/Users", user("bob@example.com", externalId="7"))

        assert refusal(again) == refusal(other) == (409, "uniqueness")

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (user("ada"), (400, "invalidValue")),
            (user("ada@elsewhere.com"), (403, None)),
            (user("ada@sub.example.com"), (403, None)),
            (user(password="correct horse"), (400, "invalidValue")),
            ({"schemas": [USER]}, (400, "invalidValue")),
            (user(emails="ada@example.com"), (400, "invalidValue")),
            (user(title="x" * 9000), (400, "tooMany")),
            ([], (400, "invalidSyntax")),
        ],
    )
    async def test_refuses_what_no_directory_may_set(
        self, directory: Directory, body: Any, expected: tuple[int, str | None]
    ) -> None:
        assert refusal(await directory.send("POST", "/Users", body)) == expected

    async def test_of_an_inactive_user_makes_no_member(self, service: Service, directory: Directory) -> None:
        made = await directory.create(active=False)

        assert made["active"] is False
        assert "ada@example.com" not in await members(service)

    async def test_of_an_inactive_user_ends_the_membership(
        self, service: Service, directory: Directory, organization: str
    ) -> None:
        ada = await add(service, "ada")
        await service.services.unit_of_work.run(
            lambda ctx: add_directly(ctx, organization, ada.id, ["member", "admin"])
        )

        made = await directory.create("ada@example.com", active=False)

        assert made["active"] is False
        assert "ada@example.com" not in await members(service)
        await directory.set_active(ada.id, True)
        assert (await members(service))["ada@example.com"] == "member,admin"

    async def test_is_refused_while_the_organization_is_full(self, make_service: MakeService) -> None:
        service = await make_service({"organizations.membership_limit": "1"})
        organization = await create(service, await add(service, "owner"))
        directory = await add_directory(service, organization["id"])

        assert refusal(await directory.send("POST", "/Users", user())) == (403, None)


class TestList:
    @pytest.mark.operation("scim.list_users")
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('userName eq "ADA@example.com"', ["ada"]),
            ('userName sw "b"', ["bob"]),
            ('emails.value co "da@"', ["ada"]),
            ('emails[type eq "work"].value eq "ada@example.com"', ["ada"]),
            ('externalId eq "2"', ["bob"]),
            ("externalId pr", ["bob"]),
            ("active eq false", ["eve"]),
            ('active eq "True" and displayName eq "ADA"', ["ada"]),
            ('meta.lastModified gt "2000-01-01T00:00:00Z" and userName lt "b"', ["ada"]),
            (f'id eq "{NEVER}"', []),
        ],
    )
    async def test_filters(self, directory: Directory, text: str, expected: list[str]) -> None:
        await directory.create("ada@example.com", displayName="Ada")
        await directory.create("bob@example.com", externalId="2")
        await directory.create("eve@example.com", active=False)

        page = await directory.get("/Users", filter=text)

        names = sorted(each["userName"].partition("@")[0] for each in page["Resources"])
        assert names == (expected if "owner" not in names else [*expected, "owner"])
        assert page["totalResults"] == len(names)

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('externalId co "BCd"', ["ada"]),
            ('externalId co "bcd"', []),
            ('externalId co "_%\u00e9"', ["bob"]),
            ('externalId co "_%\u00c9"', []),
            ('externalId co "***"', []),
            ('externalId sw "aB"', ["ada"]),
            ('externalId sw "ab"', []),
            ('externalId sw "BC"', []),
            ('externalId sw "\u00c9_"', ["bob"]),
            ('externalId sw "\u00e9"', []),
            ('externalId sw ""', ["ada", "bob"]),
            ('externalId eq "abcd"', []),
            ('displayName sw "ADA"', ["ada"]),
        ],
    )
    async def test_identifiers_are_case_exact(
        self, directory: Directory, text: str, expected: list[str]
    ) -> None:
        await directory.create("ada@example.com", displayName="Ada", externalId="aBCd")
        await directory.create("bob@example.com", externalId="\u00c9_%\u00e9")

        page = await directory.get("/Users", filter=text)

        assert sorted(each["userName"].partition("@")[0] for each in page["Resources"]) == expected

    @pytest.mark.both_databases
    async def test_ids_of_users_and_groups_are_case_exact(self, directory: Directory) -> None:
        ada = (await directory.create())["id"]
        staff = (await directory.send("POST", "/Groups", group("Staff", externalId="aBCd"))).json()["id"]

        for endpoint, own in (("/Users", ada), ("/Groups", staff)):
            for operator, sent, expected in (
                ("co", own[1:], [own]),
                ("co", own[1:].swapcase(), []),
                ("sw", own[:31], [own]),
                ("sw", own[:31].swapcase(), []),
            ):
                page = await directory.get(endpoint, filter=f'id {operator} "{sent}"')
                assert [each["id"] for each in page["Resources"]] == expected, (endpoint, operator, sent)
        page = await directory.get("/Groups", filter='externalId co "bcd"')
        assert page["Resources"] == []

    @pytest.mark.parametrize(
        "text",
        [
            'userName eq "a" or userName eq "b"',
            'not (userName eq "a")',
            'userName ne "a"',
            'password eq "x"',
            'userName co "a"',
            "userName eq 3",
            'meta.lastModified gt "yesterday"',
            'meta.lastModified gt "0001-01-01T00:00:00+14:00"',
            "active gt true",
            "userName eq",
            "(" * 100 + 'id eq "1"' + ")" * 99,
            f'userName eq "{"x" * 1100}"',
            " and ".join(['id eq "1"'] * 11),
        ],
    )
    async def test_refuses_other_filters(self, directory: Directory, text: str) -> None:
        answer = await directory.send("GET", "/Users", params={"filter": text})

        assert refusal(answer) == (400, "invalidFilter")

    async def test_shows_members_of_the_domains_whom_it_has_not_brought(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        page = await directory.get("/Users")

        assert [each["id"] for each in page["Resources"]] == [owner.id]

    async def test_pages_by_index(self, directory: Directory) -> None:
        for name in "abc":
            await directory.create(f"{name}@example.com")

        first = await directory.get("/Users", count=2)
        rest = await directory.get("/Users", count=2, startIndex=3)
        none = await directory.get("/Users", count=0)

        assert (first["totalResults"], first["itemsPerPage"], rest["startIndex"]) == (4, 2, 3)
        assert len({each["id"] for each in first["Resources"] + rest["Resources"]}) == 4
        assert (none["totalResults"], none["Resources"]) == (4, [])

    @pytest.mark.both_databases
    async def test_counts_a_large_directory_once_a_minute(
        self, service: Service, directory: Directory
    ) -> None:
        await add_many(service, COUNTED)

        before = await directory.get("/Users", count=1)
        await directory.create("zoe@example.com")
        within = await directory.get("/Users", count=1)
        end = await directory.get("/Users", startIndex=before["totalResults"] + 1)
        service.clock.advance(seconds=61)
        after = await directory.get("/Users", count=0)
        found = await directory.get("/Users", filter='userName co "@example"', count=1)

        assert before["totalResults"] == within["totalResults"] == COUNTED + 1
        assert end["totalResults"] == after["totalResults"] == found["totalResults"] == COUNTED + 2

    @pytest.mark.both_databases
    async def test_counts_a_large_directory_for_its_last_page(
        self, service: Service, directory: Directory
    ) -> None:
        await add_many(service, COUNTED)
        number = (await directory.get("/Users", count=0))["totalResults"]
        for name in "xyz":
            await directory.create(f"{name}@example.com")

        last = await directory.get("/Users", count=5, startIndex=number - 4)
        service.clock.advance(seconds=61)
        grown = (await directory.get("/Users", count=0))["totalResults"]
        await execute(service, "DELETE FROM scim_link WHERE external_id IS NULL AND NOT provisioned")

        empty = await directory.get("/Users", count=5, startIndex=number - 4)

        assert last["totalResults"] == grown == number + 3
        assert (empty["itemsPerPage"], empty["totalResults"]) == (0, 3)

    async def test_reads_every_user_by_the_number_of_a_page(
        self, service: Service, directory: Directory
    ) -> None:
        names = [f"{number}@example.com" for number in range(6)]
        users = [await directory.create(name) for name in names]
        for each in users[::2]:
            await execute(service, "DELETE FROM member WHERE user_id = :id", id=each["id"])
        seen: list[str] = []
        start = total = 1

        while start <= total:
            page = await directory.get("/Users", count=2, startIndex=start)
            seen += [each["userName"] for each in page["Resources"]]
            start, total = start + page["itemsPerPage"], page["totalResults"]

        assert sorted(set(seen) & set(names)) == names[1::2]
        assert len(set(seen)) == len(seen)

    async def test_pages_by_cursor(self, directory: Directory) -> None:
        for name in "abc":
            await directory.create(f"{name}@example.com")
        seen: list[str] = []
        cursor = ""

        while cursor is not None:
            page = await directory.get("/Users", count=3, cursor=cursor)
            seen += [each["id"] for each in page["Resources"]]
            assert "totalResults" not in page
            cursor = page.get("nextCursor")

        assert len(set(seen)) == len(seen) == 4

    @pytest.mark.parametrize("query", [{"cursor": "x y"}, {"count": "many"}, {"startIndex": "1.5"}])
    async def test_refuses_malformed_pages(self, directory: Directory, query: dict[str, str]) -> None:
        assert (await directory.send("GET", "/Users", params=query)).status_code == 400

    async def test_returns_the_attributes_that_are_asked_for(self, directory: Directory) -> None:
        made = await directory.create(displayName="Ada")

        some = await directory.get(f"/Users/{made['id']}", attributes="userName")
        others = await directory.get(f"/Users/{made['id']}", excludedAttributes="displayName")

        assert some == {"schemas": [USER], "id": made["id"], "userName": "ada@example.com"}
        assert "displayName" not in others
        assert others["userName"] == "ada@example.com"


class TestChange:
    @pytest.mark.operation("scim.replace_user")
    async def test_replaces_address_and_name(self, service: Service, directory: Directory) -> None:
        made = await directory.create(displayName="Ada", externalId="7")

        answer = await directory.send(
            "PUT", f"/Users/{made['id']}", user("king@example.com", displayName="Ada King")
        )

        assert answer.status_code == 200
        assert answer.headers["etag"] == 'W/"2"'
        shown = answer.json()
        assert (shown["userName"], shown["displayName"]) == ("king@example.com", "Ada King")
        assert "externalId" not in shown
        [row] = await service.rows('SELECT * FROM "user" WHERE id = :id', id=made["id"])
        assert (row.email, row.name) == ("king@example.com", "Ada King")
        assert await service.inbox("ada@example.com", "email-changed")

    async def test_an_address_of_somebody_else_is_refused(
        self, service: Service, directory: Directory
    ) -> None:
        await add(service, "bob")
        made = await directory.create()

        answer = await directory.send("PUT", f"/Users/{made['id']}", user("bob@example.com"))

        assert refusal(answer) == (409, "uniqueness")

    @pytest.mark.operation("scim.patch_user")
    @pytest.mark.parametrize("spelled", [False, "False", "false"])
    async def test_disabling_ends_membership_sessions_and_keys(
        self, service: Service, directory: Directory, spelled: object
    ) -> None:
        ada = await add(service, "ada")
        made = await directory.create("ada@example.com")
        chosen = await service.post(
            "/organization/set-active", {"organizationSlug": "acme"}, headers=ada.headers
        )
        assert chosen.status_code == 200, chosen.text

        answer = await directory.set_active(made["id"], spelled)

        assert answer.json()["active"] is False
        assert "ada@example.com" not in await members(service)
        assert (await service.get("/get-session", headers=ada.headers)).status_code == 401

    async def test_enabling_restores_the_roles(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        made = await directory.create()
        [member] = await service.rows("SELECT id FROM member WHERE user_id = :id", id=made["id"])
        promoted = await post(service, owner, "update-member-role", memberId=member.id, role="admin")
        assert promoted.status_code == 200, promoted.text
        await directory.set_active(made["id"], False)

        await directory.set_active(made["id"], True)

        assert (await members(service))["ada@example.com"] == "admin"

    async def test_in_the_whole_service_it_bans(self, service: Service) -> None:
        directory = await add_directory(service)
        ada = await add(service, "ada")
        made = await directory.create("ada@example.com")

        await directory.set_active(made["id"], False)

        assert (await service.get("/get-session", headers=ada.headers)).status_code == 401
        [row] = await service.rows('SELECT banned FROM "user" WHERE id = :id', id=ada.id)
        assert row.banned
        await directory.set_active(made["id"], True)
        [row] = await service.rows('SELECT banned FROM "user" WHERE id = :id', id=ada.id)
        assert not row.banned

    @pytest.mark.parametrize(
        ("operation", "attribute", "value"),
        [
            ({"op": "Replace", "path": "displayName", "value": "Q"}, "displayName", "Q"),
            ({"op": "Add", "value": {"name.givenName": "G"}}, "name", {"givenName": "G"}),
            (
                {"op": "add", "path": 'emails[type eq "work"].value', "value": "w@example.com"},
                "emails",
                [{"type": "work", "value": "w@example.com"}],
            ),
            (
                {
                    "op": "Add",
                    "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager",
                    "value": "77",
                },
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
                {"manager": {"value": "77"}},
            ),
            ({"op": "replace", "value": {"externalId": "9"}}, "externalId", "9"),
        ],
    )
    async def test_takes_the_dialects_of_large_directories(
        self, directory: Directory, operation: Any, attribute: str, value: object
    ) -> None:
        made = await directory.create()

        answer = await directory.change(f"/Users/{made['id']}", operation)

        assert answer.status_code == 200, answer.text
        assert answer.json()[attribute] == value

    @pytest.mark.parametrize(
        ("operation", "expected"),
        [
            ({"op": "replace", "path": "id", "value": "x"}, (400, "mutability")),
            ({"op": "remove"}, (400, "noTarget")),
            ({"op": "replace", "path": "password", "value": "x"}, (400, "invalidValue")),
            ({"op": "copy", "path": "displayName"}, (400, "invalidValue")),
            ({"op": "replace", "path": "userName", "value": "x@elsewhere.com"}, (403, None)),
            ({"op": "replace", "path": "active", "value": "maybe"}, (400, "invalidValue")),
        ],
    )
    async def test_refuses_other_changes(
        self, directory: Directory, operation: Any, expected: tuple[int, str]
    ) -> None:
        made = await directory.create()

        assert refusal(await directory.change(f"/Users/{made['id']}", operation)) == expected
        assert await directory.get(f"/Users/{made['id']}") == made

    async def test_the_same_again_changes_nothing(self, directory: Directory) -> None:
        made = await directory.create(displayName="Ada")

        answer = await directory.send("PUT", f"/Users/{made['id']}", user(displayName="Ada"))

        assert answer.headers["etag"] == 'W/"1"'

    async def test_versions_protect_against_lost_changes(self, directory: Directory) -> None:
        made = await directory.create()
        path = f"/Users/{made['id']}"
        await directory.send("PUT", path, user(displayName="Ada"))

        late = await directory.send("PUT", path, user(displayName="Eve"), headers={"if-match": 'W/"1"'})
        known = await directory.send("GET", path, headers={"if-none-match": 'W/"2"'})

        assert refusal(late) == (412, None)
        assert known.status_code == 304


class TestDelete:
    @pytest.mark.operation("scim.delete_user")
    @pytest.mark.parametrize(("on_delete", "bans"), [("disable", [True]), ("remove", [])])
    async def test_ends_an_account_that_only_the_directory_has_brought(
        self, make_service: MakeService, on_delete: str, bans: list[bool]
    ) -> None:
        service = await make_service({"scim.on_delete": on_delete})
        organization = await create(service, await add(service, "owner"))
        directory = await add_directory(service, organization["id"])
        made = await directory.create()

        answer = await directory.send("DELETE", f"/Users/{made['id']}")

        assert answer.status_code == 204
        assert refusal(await directory.send("GET", f"/Users/{made['id']}")) == (404, None)
        rows = await service.rows('SELECT banned FROM "user" WHERE id = :id', id=made["id"])
        assert [bool(row.banned) for row in rows] == bans

    async def test_leaves_other_accounts_alone(self, service: Service, directory: Directory) -> None:
        ada = await add(service, "ada")
        await directory.create("ada@example.com")

        await directory.send("DELETE", f"/Users/{ada.id}")

        assert (await service.get("/get-session", headers=ada.headers)).json()["user"]["id"] == ada.id
        assert "ada@example.com" not in await members(service)


class TestGroups:
    @pytest.mark.operation("scim.create_group")
    @pytest.mark.operation("scim.get_group")
    @pytest.mark.operation("scim.list_groups")
    async def test_are_teams(self, service: Service, directory: Directory) -> None:
        made = await directory.create()

        answer = await directory.send("POST", "/Groups", group("Staff", made["id"], externalId="42"))

        assert answer.status_code == 201, answer.text
        shown = answer.json()
        assert [each["value"] for each in shown["members"]] == [made["id"]]
        assert await directory.get(f"/Groups/{shown['id']}") == shown
        page = await directory.get("/Groups", filter='displayName eq "staff"')
        assert [each["id"] for each in page["Resources"]] == [shown["id"]]
        assert [each["display"] for each in (await directory.get(f"/Users/{made['id']}"))["groups"]] == [
            "Staff"
        ]
        [row] = await service.rows("SELECT * FROM team WHERE id = :id", id=shown["id"])
        assert row.name == "Staff"

    @pytest.mark.operation("scim.patch_group")
    async def test_change_their_members(self, directory: Directory) -> None:
        ada, bob = [(await directory.create(f"{name}@example.com"))["id"] for name in ("ada", "bob")]
        staff = (await directory.send("POST", "/Groups", group("Staff", ada))).json()
        path = f"/Groups/{staff['id']}"

        await directory.change(path, {"op": "add", "path": "members", "value": [{"value": bob}]})
        await directory.change(path, {"op": "remove", "path": f'members[value eq "{ada}"]'})
        answer = await directory.change(path, {"op": "replace", "value": {"displayName": "All"}})

        shown = answer.json()
        assert ([each["value"] for each in shown["members"]], shown["displayName"]) == ([bob], "All")

    @pytest.mark.operation("scim.replace_group")
    @pytest.mark.operation("scim.delete_group")
    async def test_are_replaced_and_deleted(self, service: Service, directory: Directory) -> None:
        ada = (await directory.create())["id"]
        staff = (await directory.send("POST", "/Groups", group("Staff", ada))).json()
        path = f"/Groups/{staff['id']}"

        replaced = await directory.send("PUT", path, group("Staff"))
        deleted = await directory.send("DELETE", path)

        assert "members" not in replaced.json()
        assert deleted.status_code == 204
        assert await service.rows("SELECT id FROM team WHERE id = :id", id=staff["id"]) == []
        assert "ada@example.com" in await members(service)

    async def test_give_roles_but_never_ownership(self, service: Service, organization: str) -> None:
        rules = '{"Admins": "admin", "Bosses": "owner,admin"}'
        directory = await add_directory(service, organization, group_roles=rules)
        ada, bob = [(await directory.create(f"{name}@example.com"))["id"] for name in ("ada", "bob")]
        admins = (await directory.send("POST", "/Groups", group("Admins", ada))).json()
        await directory.send("POST", "/Groups", group("Bosses", bob))

        given = await members(service)
        await directory.change(f"/Groups/{admins['id']}", {"op": "remove", "path": "members"})

        assert (given["ada@example.com"], given["bob@example.com"]) == ("admin", "admin")
        assert (await members(service))["ada@example.com"] == "member"


@pytest.mark.both_databases
class TestAudit:
    async def test_says_that_the_directory_of_an_organization_acted(
        self, service: Service, directory: Directory
    ) -> None:
        await forget(service)
        ada = (await directory.create())["id"]
        staff = (await directory.send("POST", "/Groups", group("Staff", ada))).json()["id"]
        await directory.change(f"/Groups/{staff}", {"op": "replace", "value": {"displayName": "All"}})
        await directory.change(f"/Groups/{staff}", {"op": "remove", "path": "members"})
        await directory.send("DELETE", f"/Groups/{staff}")
        await directory.change(f"/Users/{ada}", {"op": "replace", "path": "displayName", "value": "Ada L."})
        await directory.set_active(ada, False)

        records = await trail(service)

        assert {record.event for record in records} >= {
            *("user.created", "user.updated", "scim.user_created", "scim.user_disabled"),
            *("member.added", "member.removed", "team.created", "team.updated", "team.removed"),
            *("team_member.added", "team_member.removed"),
        }
        assert {(record.actor_id, record.details.get("by")) for record in records} == {(None, "directory")}
        assert {record.details["connectionId"] for record in records} == {directory.connection_id}

    async def test_says_that_the_directory_changed_roles(self, service: Service, organization: str) -> None:
        directory = await add_directory(service, organization, group_roles='{"Admins": "admin"}')
        ada = (await directory.create())["id"]

        await directory.send("POST", "/Groups", group("Admins", ada))

        record = await only(service, "member.role_changed")
        assert record.details["by"] == "directory"
        assert record.details["connectionId"] == directory.connection_id

    async def test_says_that_the_directory_of_the_whole_service_banned(self, service: Service) -> None:
        directory = await add_directory(service)
        ada = await add(service, "ada")
        await directory.create("ada@example.com")
        await directory.set_active(ada.id, False)
        await directory.set_active(ada.id, True)

        for event in ("user.banned", "session.revoked_all", "user.unbanned"):
            record = await only(service, event)
            named = record.actor_id, record.details["by"], record.details["connectionId"]
            assert named == (None, "directory", directory.connection_id), event

    async def test_says_that_the_directory_deleted(self, make_service: MakeService) -> None:
        service = await make_service({"scim.on_delete": "remove"})
        directory = await add_directory(service)
        made = await directory.create()

        await directory.send("DELETE", f"/Users/{made['id']}")

        assert (await only(service, "user.deleted")).details["by"] == "directory"

    async def test_says_that_a_refused_change_was_the_directorys(
        self, service: Service, owner: Person, directory: Directory
    ) -> None:
        await directory.create("owner@example.com")

        await directory.set_active(owner.id, False)

        assert (await only(service, "scim.refused")).details["by"] == "directory"

    async def test_the_caller_stays_the_actor(
        self, service: Service, owner: Person, organization: str
    ) -> None:
        record = await only(service, "organization.created")

        assert (record.actor_id, "by" in record.details) == (owner.id, False)


@pytest.mark.both_databases
class TestLastErrors:
    """The refused requests of a directory, as those who manage it see them."""

    async def errors(self, service: Service, owner: Person, provider_id: str = "acme") -> list[Any]:
        """Return the last errors of a directory."""
        path = f"/scim/get-directory?providerId={provider_id}"
        answer = await service.get(path, headers=owner.headers)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["lastErrors"])

    @pytest.mark.operation("scim.get_directory")
    async def test_names_request_status_and_reason(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        assert await self.errors(service, owner) == []
        shown = await directory.get("/Users")
        await directory.set_active(shown["Resources"][0]["id"], False)
        service.clock.advance(seconds=1)
        await directory.send("GET", "/Users", params={"filter": 'userName co "a"'})
        service.clock.advance(seconds=1)
        await directory.send("GET", f"/Groups/{NEVER}")

        found = await self.errors(service, owner)

        assert [tuple(each.values())[1:] for each in found] == [
            ("GET", "Groups", 404, None, "There is no such resource"),
            ("GET", "Users", 400, "invalidFilter", "co needs three characters or more"),
            (
                *("PATCH", "Users", 403, "mutability"),
                "Owners of the organization and administrators of the service are not changed by a directory",
            ),
        ]
        assert [each["time"] for each in found] == sorted((each["time"] for each in found), reverse=True)

    @pytest.mark.threat("SSO12")
    async def test_nothing_of_a_request_is_stored(self, service: Service, directory: Directory) -> None:
        made = await directory.create()
        secret = "correct-horse@example.com"
        broken = {"op": "replace", "path": f'emails[correct-horse eq "{secret}"].value', "value": secret}
        requests: list[tuple[str, str, Any]] = [
            ("POST", "/Users", user(password=secret)),
            ("POST", "/Users", user(secret, emails=[{"value": "correct-horse"}])),
            ("POST", "/Users", user(active=secret)),
            ("POST", "/Users", user(f"{secret}.org")),
            ("PATCH", f"/Users/{made['id']}", changes({"op": secret, "path": "displayName"})),
            ("PATCH", f"/Users/{made['id']}", changes(broken)),
            ("GET", f'/Users?filter=title eq "{secret}"', None),
            ("GET", f"/Users?count={secret}", None),
            ("GET", f"/Users/{secret}", None),
        ]
        for method, path, body in requests:
            refused = await directory.send(method, path, body)
            assert 400 <= refused.status_code < 500, refused.text
            service.clock.advance(minutes=1)

        rows = await service.rows("SELECT * FROM scim_failure")

        assert len(rows) == len(requests)
        for row in rows:
            for sent in ("correct-horse", made["id"], "ada@", "title", directory.token):
                assert sent not in str(row)

    async def test_the_eleventh_replaces_the_first(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        for number in range(11):
            await directory.send("GET", f"/Users/{NEVER}" if number else f"/Groups/{NEVER}")
            service.clock.advance(minutes=1)

        assert [each["resource"] for each in await self.errors(service, owner)] == ["Users"] * 10
        assert len(await service.rows("SELECT id FROM scim_failure")) == 10

    async def test_the_same_is_stored_once_a_minute(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        for seconds in (0, 59, 1, 59):
            service.clock.advance(seconds=seconds)
            await directory.send("GET", f"/Users/{NEVER}")
            await directory.send("GET", f"/Users/{NEVER}{seconds}")

        times = [each["time"][14:19] for each in await self.errors(service, owner)]
        assert times == ["01:00", "00:00"]

    async def test_the_same_at_once_is_stored_once(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        sent = (directory.send("GET", f"/Users/{NEVER}") for _ in range(10))

        answers = await asyncio.gather(*sent)

        assert {refusal(answer) for answer in answers} == {(404, None)}
        assert len(await self.errors(service, owner)) == 1

    async def test_ten_are_the_most_of_a_minute(self, service: Service, directory: Directory) -> None:
        bodies: list[Any] = [[], user("ada"), user("a@elsewhere.com"), group("")]
        for path in (f"/Users/{NEVER}", f"/Groups/{NEVER}"):
            for method in ("GET", "DELETE"):
                await directory.send(method, path)
            for body in bodies:
                await directory.send("PUT", path, body)
                await directory.send("POST", path.removesuffix(f"/{NEVER}"), body)
        seen = await service.rows("SELECT * FROM scim_failure")

        await directory.send("GET", "/ResourceTypes/Device")

        assert len(seen) == 10
        assert await service.rows("SELECT * FROM scim_failure") == seen

    async def test_only_those_with_a_valid_token(self, service: Service, directory: Directory) -> None:
        forged = Directory(service, directory.connection_id, directory.token[:-1] + "?")
        unknown = Directory(service, directory.connection_id, "scim_" + "x" * 32)
        for other in (forged, unknown):
            await other.send("GET", f"/Users/{NEVER}")
            await other.send("POST", "/Users", [])

        assert await service.rows("SELECT id FROM scim_failure") == []

    async def test_too_many_requests_are_one(self, make_service: MakeService) -> None:
        service = await make_service({"scim.rate": "1"})
        directory = await add_directory(service)

        statuses = [(await directory.send("GET", "/Users")).status_code for _ in range(3)]

        [row] = await service.rows("SELECT * FROM scim_failure")
        assert statuses == [200, 429, 429]
        assert (row.method, row.resource, row.status) == ("GET", "Users", 429)

    async def test_those_of_other_connections_are_not_shown(
        self, service: Service, directory: Directory, owner: Person, organization: str
    ) -> None:
        other = await add_directory(service, organization, "other.example", name="other")
        await other.send("GET", f"/Users/{NEVER}")

        assert await self.errors(service, owner) == []
        assert len(await self.errors(service, owner, "other")) == 1

    async def test_they_end_with_the_connection(
        self, service: Service, directory: Directory, owner: Person
    ) -> None:
        await directory.send("GET", f"/Users/{NEVER}")
        assert len(await service.rows("SELECT id FROM scim_failure")) == 1

        answer = await service.post("/sso/delete-provider", {"providerId": "acme"}, headers=owner.headers)

        assert answer.status_code == 200, answer.text
        assert await service.rows("SELECT id FROM scim_failure") == []

    async def test_a_failure_to_store_changes_no_response(
        self, service: Service, directory: Directory
    ) -> None:
        await execute(service, "ALTER TABLE scim_failure RENAME TO moved")
        try:
            answer = await directory.send("GET", f"/Users/{NEVER}")
        finally:
            await execute(service, "ALTER TABLE moved RENAME TO scim_failure")

        assert refusal(answer) == (404, None)
