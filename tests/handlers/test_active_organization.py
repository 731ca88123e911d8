"""Read organizations, activate one, and ask what one may do there."""

import json
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    TEAMS_OFF,
    Company,
    active_of,
    create,
    found_company,
    get,
    outcome,
    post,
    session_of,
)
from tests.handlers.people import Person, add_person
from tests.handlers.steps import UNKNOWN, code, refusal
from tests.service import PASSWORD, Service

NOT_A_MEMBER = "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**TEAMS_OFF, **getattr(request, "param", {})})


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations`."""
    values = {f"organizations.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


@pytest.fixture
async def ada(service: Service) -> Person:
    return await add_person(service, email="ada@example.com")


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


@pytest.mark.operation("organizations.get")
class TestGet:
    async def test_by_id_by_slug_and_the_active_one(self, acme: Company) -> None:
        by_id = await acme.get(acme.member, "get-organization")
        by_slug = await get(acme.service, acme.member, "get-organization", organizationSlug="ACME")
        active = await get(acme.service, acme.owner, "get-organization")

        assert by_id.json()["slug"] == "acme"
        assert by_id.json() == by_slug.json() == active.json()

    async def test_the_slug_decides(self, acme: Company) -> None:
        other = await create(acme.service, acme.member, "other")

        answer = await acme.get(acme.member, "get-organization", organizationSlug="other")

        assert answer.json()["id"] == other["id"]

    async def test_without_any_it_is_null(self, acme: Company) -> None:
        answer = await get(acme.service, acme.member, "get-organization")

        assert (answer.status_code, answer.json()) == (200, None)

    @pytest.mark.parametrize(
        "query", [{"organizationId": ""}, {"organizationId": "x" * 65}, {"organizationSlug": ""}]
    )
    async def test_wrong_parameters(self, acme: Company, query: dict[str, str]) -> None:
        assert (
            code(await get(acme.service, acme.owner, "get-organization", **query)) == "400 VALIDATION_ERROR"
        )


@pytest.mark.operation("organizations.get", "organizations.get_full")
@pytest.mark.parametrize("name", ["get-organization", "get-full-organization"])
async def test_a_foreign_organization_is_refused_as_an_unknown_one(acme: Company, name: str) -> None:
    service, eve = acme.service, acme.outsider
    own = await create(service, eve, "own")

    answers = [
        await get(service, eve, name, **query)
        for query in (
            {"organizationId": acme.id},
            {"organizationId": UNKNOWN},
            {"organizationSlug": "acme"},
            {"organizationSlug": "unknown"},
            {"organizationId": own["id"], "organizationSlug": "acme"},
        )
    ]

    assert {refusal(one) for one in answers} == {
        (403, NOT_A_MEMBER, "User is not a member of the organization")
    }
    assert await active_of(service, eve) == own["id"]


@pytest.mark.operation("organizations.get_full")
class TestGetFull:
    async def test_members_and_invitations(self, acme: Company) -> None:
        service = acme.service
        service.clock.advance(minutes=1)
        second = await acme.join("owner", "second@acme.example")
        first_invited = await acme.invite()
        service.clock.advance(minutes=1)
        last_invited = await acme.invite("carol@example.com", "admin")

        full = (await acme.get(acme.admin, "get-full-organization")).json()

        assert [one["userId"] for one in full["members"]] == [
            person.id
            for person in (acme.owner, second, *sorted((acme.admin, acme.member), key=_by_member(full)))
        ]
        assert full["members"][0]["user"] == {
            "id": acme.owner.id,
            "name": "Ada",
            "email": acme.owner.email,
            "image": None,
        }
        assert full["invitations"] == [last_invited, first_invited]
        assert "teams" not in full

    async def test_the_active_one_or_null(self, acme: Company) -> None:
        assert (await get(acme.service, acme.owner, "get-full-organization")).json()["id"] == acme.id
        assert (await get(acme.service, acme.member, "get-full-organization")).json() is None

    async def test_members_are_limited(self, acme: Company) -> None:
        full = (await acme.get(acme.member, "get-full-organization", membersLimit=1)).json()

        assert [one["userId"] for one in full["members"]] == [acme.owner.id]

    @pytest.mark.parametrize("limit", ["0", "x", "-1"])
    async def test_a_wrong_limit(self, acme: Company, limit: str) -> None:
        answer = await acme.get(acme.member, "get-full-organization", membersLimit=limit)

        assert code(answer) == "400 VALIDATION_ERROR"

    async def test_invitations_are_shown_to_those_who_may_invite(self, acme: Company) -> None:
        await acme.invite()
        of_owner = await acme.invite("chief@example.com", "owner")

        seen = {
            person.email: [
                one["email"]
                for one in (await acme.get(person, "get-full-organization")).json()["invitations"]
            ]
            for person in (acme.owner, acme.admin, acme.member)
        }

        assert {name: sorted(emails) for name, emails in seen.items()} == {
            acme.owner.email: ["bob@example.com", of_owner["email"]],
            acme.admin.email: ["bob@example.com"],
            acme.member.email: [],
        }

    async def test_answered_and_expired_invitations_are_left_out(self, acme: Company) -> None:
        canceled = await acme.invite()
        await post(acme.service, acme.owner, "cancel-invitation", invitationId=canceled["id"])
        await acme.invite("carol@example.com")
        acme.service.clock.advance(hours=48)

        full = (await acme.get(acme.owner, "get-full-organization")).json()

        assert full["invitations"] == []

    @settings(member_directory="managers")
    async def test_the_directory_may_be_for_managers(self, acme: Company) -> None:
        counts = [
            len((await acme.get(person, "get-full-organization")).json()["members"])
            for person in (acme.owner, acme.admin, acme.member)
        ]
        own = (await acme.get(acme.member, "get-full-organization")).json()["members"]

        assert counts == [3, 3, 1]
        assert own[0]["userId"] == acme.member.id


def _by_member(full: dict[str, Any]) -> Any:
    ids = {one["userId"]: one["id"] for one in full["members"]}
    return lambda person: ids[person.id]


@pytest.mark.operation("organizations.set_active")
class TestSetActive:
    async def test_by_id_by_slug_and_none(self, acme: Company) -> None:
        service, member = acme.service, acme.member
        seen = []
        for body in ({"organizationId": acme.id}, {"organizationId": None}, {"organizationSlug": "Acme"}):
            answer = await post(service, member, "set-active", **body)
            seen.append((answer.json() and answer.json()["id"], await active_of(service, member)))

        assert seen == [(acme.id, acme.id), (None, None), (acme.id, acme.id)]

    async def test_the_id_decides(self, acme: Company) -> None:
        other = await create(acme.service, acme.member, "other")

        answer = await post(
            acme.service, acme.member, "set-active", organizationId=acme.id, organizationSlug="other"
        )

        assert answer.json()["id"] == acme.id != other["id"]

    async def test_null_with_a_slug_is_none(self, acme: Company) -> None:
        answer = await post(
            acme.service, acme.owner, "set-active", organizationId=None, organizationSlug="acme"
        )

        assert answer.json() is None
        assert await active_of(acme.service, acme.owner) is None

    @pytest.mark.parametrize("content", [b"{}", b""])
    async def test_without_a_name_nothing_changes(self, acme: Company, content: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        answers = [
            await acme.service.client.post(
                "/organization/set-active", content=content, headers={**person.headers, **headers}
            )
            for person in (acme.owner, acme.member)
        ]

        assert [one.status_code for one in answers] == [200, 200]
        assert [one.json() and one.json()["id"] for one in answers] == [acme.id, None]

    async def test_it_is_of_this_session_only_which_stays(self, acme: Company) -> None:
        service, member = acme.service, acme.member
        other = await service.post("/sign-in/email", {"email": member.email, "password": PASSWORD})
        service.client.cookies.clear()
        before = await session_of(service, member)
        service.clock.advance(minutes=1)

        answer = await acme.post(member, "set-active")

        after = await session_of(service, member)
        assert "set-cookie" not in answer.headers
        assert before["token"] == after["token"]
        assert before["updatedAt"] < after["updatedAt"]
        assert await active_of(service, Person(member.id, member.email, other.json()["token"])) is None

    async def test_a_refusal_changes_nothing(self, acme: Company) -> None:
        service, eve = acme.service, acme.outsider
        own = await create(service, eve, "own")

        answers = [
            await post(service, eve, "set-active", **body)
            for body in (
                {"organizationId": acme.id},
                {"organizationId": UNKNOWN},
                {"organizationSlug": "acme"},
                {"organizationSlug": "unknown"},
            )
        ]

        assert {code(one) for one in answers} == {f"403 {NOT_A_MEMBER}"}
        assert await active_of(service, eve) == own["id"]

    async def test_a_new_password_keeps_it(self, acme: Company) -> None:
        service, owner = acme.service, acme.owner
        body = {
            "currentPassword": PASSWORD,
            "newPassword": "four other words here",
            "revokeOtherSessions": True,
        }

        changed = await service.post("/change-password", body, headers=owner.headers)

        service.client.cookies.clear()
        assert await active_of(service, Person(owner.id, owner.email, changed.json()["token"])) == acme.id


ROLES = {
    "organizations.statements": json.dumps({"project": ["create", "share"]}),
    "organizations.roles": json.dumps(
        {
            "editor": {"project": ["create"], "invitation": ["create"]},
            "sharer": {"project": ["share"]},
            "member": {"project": ["create"]},
        }
    ),
}


@pytest.mark.operation("organizations.has_permission")
class TestHasPermission:
    @pytest.mark.parametrize(
        ("permissions", "expected"),
        [
            ({"organization": ["update", "delete"]}, [True, False, False]),
            ({"organization": ["update"]}, [True, True, False]),
            (
                {"member": ["create", "update", "delete"], "invitation": ["create", "cancel"]},
                [True, True, False],
            ),
            ({"team": ["create", "update", "delete"]}, [True, True, False]),
            ({"ac": ["create", "read", "update", "delete"]}, [True, True, False]),
            ({"ac": ["read"]}, [True, True, True]),
            ({"apiKey": ["create"]}, [True, False, False]),
            ({"apiKey": ["read"]}, [True, True, False]),
            ({"organization": []}, [False, False, False]),
            ({"unknown": ["read"]}, [False, False, False]),
            ({}, [False, False, False]),
        ],
    )
    async def test_the_built_in_roles(
        self, acme: Company, permissions: dict[str, list[str]], expected: list[bool]
    ) -> None:
        people = (acme.owner, acme.admin, acme.member)
        answers = [(await acme.post(one, "has-permission", permissions=permissions)).json() for one in people]

        assert answers == [{"error": None, "success": success} for success in expected]

    @pytest.mark.parametrize("service", [ROLES], indirect=True)
    async def test_roles_from_the_settings(self, acme: Company) -> None:
        both = await acme.join("editor,sharer")
        asked = ({"project": ["create"]}, {"project": ["share"]}, {"project": ["create", "share"]})

        seen = {
            person.email: [
                (await acme.post(person, "has-permission", permissions=each)).json()["success"]
                for each in asked
            ]
            for person in (acme.owner, acme.member, both)
        }

        # One role must grant all of a request.
        assert seen == {
            acme.owner.email: [True, True, True],
            acme.member.email: [True, False, False],
            both.email: [True, True, False],
        }

    async def test_by_default_it_is_about_the_active_organization(self, acme: Company) -> None:
        asked = {"permissions": {"ac": ["read"]}}

        answers = [
            outcome(await post(acme.service, acme.owner, "has-permission", **asked)),
            outcome(await post(acme.service, acme.member, "has-permission", **asked)),
            outcome(await acme.post(acme.outsider, "has-permission", **asked)),
            outcome(await post(acme.service, acme.owner, "has-permission", organizationId=UNKNOWN, **asked)),
            outcome(await acme.post(acme.owner, "has-permission")),
            outcome(await acme.post(acme.owner, "has-permission", permissions={"ac": "read"})),
        ]

        assert answers == [
            {"error": None, "success": True},
            "400 NO_ACTIVE_ORGANIZATION",
            f"403 {NOT_A_MEMBER}",
            f"403 {NOT_A_MEMBER}",
            "400 VALIDATION_ERROR",
            "400 VALIDATION_ERROR",
        ]
