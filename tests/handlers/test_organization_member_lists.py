"""Members of organizations: list them, and read their roles."""

import json
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    TEAMS_OFF,
    Company,
    found_company,
    get,
    outcome,
)
from tests.handlers.steps import AT, UNKNOWN, code, refusal
from tests.service import Service

NOT_THIS = (403, "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION", "You are not a member of this organization")
NO_ACTIVE = (400, "NO_ACTIVE_ORGANIZATION", "No active organization")
ROLES = {
    "organizations.roles": json.dumps(
        {
            "Lead": {"member": ["update", "delete"], "team": ["create"]},
            "lead": {"member": ["update"]},
            "guest": {},
            "publisher": {"organization": ["update", "delete"]},
        }
    ),
}


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**TEAMS_OFF, **getattr(request, "param", {})})


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations`."""
    values = {f"organizations.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


with_roles = pytest.mark.parametrize("service", [ROLES], indirect=True)


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


def names_in(page: Any) -> list[str]:
    """Return the local parts of the addresses of listed members."""
    return [member["user"]["email"].partition("@")[0] for member in page["members"]]


@pytest.mark.operation("organizations.list_members")
class TestListMembers:
    async def test_a_page_with_users(self, acme: Company) -> None:
        page = (
            await acme.get(acme.member, "list-members", filterField="userId", filterValue=acme.admin.id)
        ).json()

        assert page == {
            "members": [
                {
                    "id": await acme.id_of(acme.admin),
                    "organizationId": acme.id,
                    "userId": acme.admin.id,
                    "role": "admin",
                    "createdAt": AT,
                    "user": {"id": acme.admin.id, "name": "Ada", "email": acme.admin.email, "image": None},
                }
            ],
            "total": 1,
        }

    async def test_of_the_active_or_a_named_organization(self, acme: Company) -> None:
        active = await get(acme.service, acme.owner, "list-members")
        by_slug = await get(acme.service, acme.member, "list-members", organizationSlug="acme")

        assert active.json() == by_slug.json()
        assert sorted(names_in(active.json())) == ["admin", "member", "owner"]

    async def test_pages_are_sorted(self, acme: Company) -> None:
        acme.service.clock.advance(seconds=1)
        await acme.join("member", "last@acme.example")
        queries: list[dict[str, Any]] = [
            {"sortBy": "role", "limit": 2},
            {"sortBy": "role", "limit": 2, "offset": 2, "sortDirection": "asc"},
            {"sortBy": "createdAt", "sortDirection": "desc", "limit": 1},
            {"offset": 3},
            {"offset": 100_000},
        ]

        pages = [(await acme.get(acme.member, "list-members", **query)).json() for query in queries]

        assert [page["total"] for page in pages] == [4] * 5
        assert [member["role"] for member in pages[0]["members"]] == ["admin", "member"]
        assert [member["role"] for member in pages[1]["members"]] == ["member", "owner"]
        assert [names_in(page) for page in pages[2:]] == [["last"], ["last"], []]
        ids = [
            member["userId"]
            for member in (await acme.get(acme.member, "list-members", sortBy="userId")).json()["members"]
        ]
        assert ids == sorted(ids)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"filterField": "role", "filterValue": "member"}, ["both", "last", "member"]),
            ({"filterField": "role", "filterValue": "ad"}, []),
            ({"filterField": "role", "filterValue": "MEMBER"}, []),
            ({"filterField": "role", "filterValue": "%"}, []),
            ({"filterField": "role", "filterOperator": "ne", "filterValue": "member"}, ["admin", "owner"]),
            (
                {"filterField": "role", "filterOperator": "in", "filterValue": ["owner", "admin"]},
                ["admin", "both", "owner"],
            ),
            (
                {"filterField": "role", "filterOperator": "not_in", "filterValue": ["owner", "admin"]},
                ["last", "member"],
            ),
            ({"filterField": "createdAt", "filterValue": AT}, ["admin", "member", "owner"]),
            ({"filterField": "createdAt", "filterOperator": "gt", "filterValue": AT}, ["both", "last"]),
            (
                {"filterField": "createdAt", "filterOperator": "gte", "filterValue": "2026-01-01T12:00:02Z"},
                ["last"],
            ),
            ({"filterField": "createdAt", "filterOperator": "lt", "filterValue": AT}, []),
            (
                {
                    "filterField": "createdAt",
                    "filterOperator": "lte",
                    "filterValue": "2026-01-01T13:00:01+01:00",
                },
                ["admin", "both", "member", "owner"],
            ),
            (
                {"filterField": "userId", "filterOperator": "ne", "filterValue": UNKNOWN},
                ["admin", "both", "last", "member", "owner"],
            ),
            ({"filterField": "id", "filterValue": UNKNOWN}, []),
            ({"filterField": "id", "filterOperator": "in", "filterValue": [UNKNOWN]}, []),
        ],
    )
    async def test_filters(self, acme: Company, query: dict[str, Any], expected: list[str]) -> None:
        for name, role in (("both", "admin,member"), ("last", "member")):
            acme.service.clock.advance(seconds=1)
            await acme.join(role, f"{name}@acme.example")

        page = (await acme.get(acme.member, "list-members", **query)).json()

        assert (sorted(names_in(page)), page["total"]) == (expected, len(expected))

    @with_roles
    async def test_roles_are_compared_with_their_case(self, acme: Company) -> None:
        await acme.join("Lead", "upper@acme.example")
        await acme.join("lead", "lower@acme.example")

        page = (await acme.get(acme.member, "list-members", filterField="role", filterValue="lead")).json()

        assert names_in(page) == ["lower"]

    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ({"limit": 0}, "limit"),
            ({"limit": 501}, "limit"),
            ({"offset": -1}, "offset"),
            ({"offset": 100_001}, "offset"),
            ({"sortBy": "email"}, "sortBy"),
            ({"sortDirection": "up"}, "sortDirection"),
            ({"filterField": "email", "filterValue": "x"}, "filterField"),
            ({"filterField": "role"}, "filterValue"),
            ({"filterValue": "x"}, "filterField"),
            ({"filterOperator": "eq"}, "filterField"),
            ({"filterField": "role", "filterOperator": "contains", "filterValue": "x"}, "filterOperator"),
            ({"filterField": "role", "filterOperator": "lt", "filterValue": "x"}, "filterOperator"),
            ({"filterField": "id", "filterOperator": "gte", "filterValue": "x"}, "filterOperator"),
            ({"filterField": "role", "filterValue": ["admin", "owner"]}, "filterValue"),
            ({"filterField": "createdAt", "filterValue": "yesterday"}, "filterValue"),
            ({"filterField": "createdAt", "filterValue": "9999-12-31T23:59:59-23:59"}, "filterValue"),
            ({"filterField": "id", "filterOperator": "in", "filterValue": ["x"] * 101}, "filterValue"),
        ],
    )
    async def test_wrong_parameters(self, acme: Company, query: dict[str, Any], name: str) -> None:
        answer = await acme.get(acme.owner, "list-members", **query)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert f"query.{name}" in answer.json()["message"]

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        answers = [
            await get(service, acme.member, "list-members"),
            await acme.get(acme.outsider, "list-members"),
            await get(service, acme.owner, "list-members", organizationId=UNKNOWN),
            await get(service, acme.owner, "list-members", organizationSlug="unknown"),
        ]

        assert [refusal(one) for one in answers] == [NO_ACTIVE, NOT_THIS, NOT_THIS, NOT_THIS]

    @settings(member_directory="managers")
    async def test_the_directory_may_be_for_managers(self, acme: Company) -> None:
        pages = [
            (await acme.get(person, "list-members", filterField="role", filterValue="owner")).json()
            for person in (acme.admin, acme.member)
        ]

        assert [(names_in(page), page["total"]) for page in pages] == [(["owner"], 1), (["member"], 1)]


@pytest.mark.operation("organizations.get_active_member")
async def test_the_active_member(acme: Company) -> None:
    service = acme.service
    own = (await get(service, acme.owner, "get-active-member")).json()

    assert (own["userId"], own["role"], own["user"]["email"]) == (acme.owner.id, "owner", acme.owner.email)
    assert refusal(await get(service, acme.member, "get-active-member")) == NO_ACTIVE


@pytest.mark.operation("organizations.get_active_member_role")
class TestGetActiveMemberRole:
    async def test_of_the_caller_and_of_others(self, acme: Company) -> None:
        service = acme.service
        both = await acme.join("member,admin")
        answers = [
            await get(service, acme.owner, "get-active-member-role"),
            await acme.get(both, "get-active-member-role"),
            await get(service, acme.member, "get-active-member-role", organizationSlug="acme"),
            await acme.get(acme.member, "get-active-member-role", userId=acme.owner.id),
        ]

        assert [one.json() for one in answers] == [
            {"role": role} for role in ("owner", "member,admin", "member", "owner")
        ]

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        answers = [
            await get(service, acme.member, "get-active-member-role"),
            await acme.get(acme.outsider, "get-active-member-role"),
            await acme.get(acme.outsider, "get-active-member-role", userId=acme.owner.id),
            await acme.get(acme.owner, "get-active-member-role", userId=acme.outsider.id),
            await acme.get(acme.owner, "get-active-member-role", userId=UNKNOWN),
            await get(service, acme.owner, "get-active-member-role", organizationId=UNKNOWN),
        ]

        assert [refusal(one) for one in answers] == [NO_ACTIVE, *[NOT_THIS] * 5]

    @settings(member_directory="managers")
    async def test_the_directory_may_be_for_managers(self, acme: Company) -> None:
        answers = [
            outcome(await acme.get(person, "get-active-member-role", userId=of.id))
            for person, of in (
                (acme.admin, acme.owner),
                (acme.member, acme.owner),
                (acme.member, acme.member),
            )
        ]

        assert answers == [
            {"role": "owner"},
            "403 YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION",
            {"role": "member"},
        ]
