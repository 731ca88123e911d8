"""Members of teams: list, add and remove them."""

from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    Company,
    create,
    found_company,
    get,
    outcome,
    post,
    session_of,
)
from tests.handlers.people import Person
from tests.handlers.steps import AT, UNKNOWN, code, refusal
from tests.service import Service
from tests.trail import only

NO_ACTIVE = "400 NO_ACTIVE_ORGANIZATION"
NO_TEAM = "400 TEAM_NOT_FOUND"
NO_MEMBER = "400 USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"
NOT_IN_TEAM = "403 USER_IS_NOT_A_MEMBER_OF_THE_TEAM"


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """A service with teams."""
    return await make_service(getattr(request, "param", {}))


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations.teams`."""
    values = {f"organizations.teams.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


async def put(company: Company, person: Person, team: dict[str, Any]) -> Any:
    """Add a person to a team; return the membership, or the error."""
    return outcome(await company.post(company.owner, "add-team-member", teamId=team["id"], userId=person.id))


async def active_team(service: Service, person: Person) -> str | None:
    """Return the active team of a person's session."""
    active: str | None = (await session_of(service, person)).get("activeTeamId")
    return active


@pytest.mark.operation("teams.list_of_user")
class TestListOfUser:
    async def test_ones_own_of_all_organizations_or_one(self, acme: Company) -> None:
        service = acme.service
        service.clock.advance(seconds=1)
        other = await found_company(service, "other")
        await other.add(acme.owner)
        await put(other, acme.owner, await other.team("Guests"))

        everywhere = (await get(service, acme.owner, "list-user-teams")).json()
        here = (await acme.get(acme.owner, "list-user-teams", userId=acme.owner.id)).json()

        assert [one["name"] for one in everywhere] == ["Acme", "Guests"]
        assert [one["name"] for one in here] == ["Acme"]

    async def test_of_another_member(self, acme: Company) -> None:
        team = await acme.team()
        await put(acme, acme.member, team)
        own = await create(acme.service, acme.member, "own", keepCurrentActiveOrganization=True)

        listed = (await acme.get(acme.admin, "list-user-teams", userId=acme.member.id)).json()

        assert own["id"] not in {one["organizationId"] for one in listed}
        assert listed == [team]

    async def test_refusals(self, acme: Company) -> None:
        answers = [
            await get(acme.service, acme.member, "list-user-teams", userId=acme.owner.id),
            await acme.get(acme.outsider, "list-user-teams"),
            await acme.get(acme.outsider, "list-user-teams", userId=acme.owner.id),
            await acme.get(acme.member, "list-user-teams", userId=acme.owner.id),
        ]

        assert [code(one) for one in answers] == [
            NO_ACTIVE,
            "403 YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION",
            "403 YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION",
            "403 YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER",
        ]


@pytest.mark.operation("teams.list_members")
class TestListMembers:
    async def test_for_members_of_the_team_and_managers_of_teams(self, acme: Company) -> None:
        service = acme.service
        team = await acme.team()
        joined = await put(acme, acme.member, team)

        of_admin = await acme.get(acme.admin, "list-team-members", teamId=team["id"])
        of_member = await acme.get(acme.member, "list-team-members", teamId=team["id"])
        active = await get(service, acme.owner, "list-team-members")

        assert of_admin.json() == of_member.json() == [joined]
        assert [one["userId"] for one in active.json()] == [acme.owner.id]

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        team, foreign = await acme.team(), await other.team()
        answers = [
            await get(service, acme.member, "list-team-members"),
            await get(service, acme.member, "list-team-members", teamId=team["id"]),
            await acme.get(acme.outsider, "list-team-members", teamId=team["id"]),
            await acme.get(acme.owner, "list-team-members", teamId=foreign["id"]),
            await acme.get(acme.member, "list-team-members", teamId=team["id"]),
        ]

        assert [code(one) for one in answers] == [
            "400 YOU_DO_NOT_HAVE_AN_ACTIVE_TEAM",
            NO_ACTIVE,
            NOT_IN_TEAM,
            NO_TEAM,
            NOT_IN_TEAM,
        ]


@pytest.mark.operation("teams.add_member")
class TestAddMember:
    async def test_a_member_is_added_once(self, acme: Company) -> None:
        team = await acme.team()

        joined = await put(acme, acme.member, team)

        assert joined == {
            "id": joined["id"],
            "teamId": team["id"],
            "userId": acme.member.id,
            "createdAt": AT,
        }
        acme.service.clock.advance(seconds=1)
        assert await put(acme, acme.member, team) == joined
        record = await only(acme.service, "team_member.added", team=team["id"])
        assert record.user_id == acme.member.id

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        team, foreign = await acme.team(), await other.team()
        right = {"teamId": team["id"], "userId": acme.member.id}
        answers = [
            await post(service, acme.member, "add-team-member", **right),
            await acme.post(acme.member, "add-team-member", **right),
            await acme.post(acme.outsider, "add-team-member", **right),
            await acme.post(acme.owner, "add-team-member", **{**right, "teamId": foreign["id"]}),
            await acme.post(acme.owner, "add-team-member", **{**right, "userId": other.member.id}),
            await acme.post(acme.owner, "add-team-member", **{**right, "userId": UNKNOWN}),
        ]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_CREATE_A_NEW_TEAM_MEMBER"
        assert [code(one) for one in answers] == [
            NO_ACTIVE,
            forbidden,
            forbidden,
            NO_TEAM,
            NO_MEMBER,
            NO_MEMBER,
        ]
        assert refusal(answers[1])[2] == "You are not allowed to create a new member"

    @settings(maximum_members=1)
    async def test_a_team_has_a_limited_number(self, acme: Company) -> None:
        team = await acme.team()

        seen = [await put(acme, person, team) for person in (acme.member, acme.admin, acme.member)]

        assert seen == [seen[0], "403 TEAM_MEMBER_LIMIT_REACHED", seen[0]]


@pytest.mark.operation("teams.remove_member")
class TestRemoveMember:
    async def test_sessions_lose_the_team(self, acme: Company) -> None:
        service = acme.service
        team = await acme.team()
        await put(acme, acme.member, team)
        await acme.post(acme.member, "set-active")
        await post(service, acme.member, "set-active-team", teamId=team["id"])

        removed = await acme.post(acme.admin, "remove-team-member", teamId=team["id"], userId=acme.member.id)

        assert removed.json() == {"message": "Team member removed successfully."}
        assert await active_team(service, acme.member) is None
        assert (await session_of(service, acme.member))["activeOrganizationId"] == acme.id
        record = await only(service, "team_member.removed")
        assert (record.user_id, record.details["organizationId"]) == (acme.member.id, acme.id)

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        team, foreign = await acme.team(), await other.team()
        right = {"teamId": team["id"], "userId": acme.member.id}
        answers = [
            await post(service, acme.member, "remove-team-member", **right),
            await acme.post(acme.member, "remove-team-member", **right),
            await acme.post(acme.outsider, "remove-team-member", **right),
            await acme.post(acme.owner, "remove-team-member", **{**right, "teamId": foreign["id"]}),
            await acme.post(acme.owner, "remove-team-member", **{**right, "userId": other.member.id}),
            await acme.post(acme.owner, "remove-team-member", **right),
        ]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_REMOVE_A_TEAM_MEMBER"
        assert [code(one) for one in answers] == [
            NO_ACTIVE,
            forbidden,
            forbidden,
            NO_TEAM,
            NO_MEMBER,
            "400 USER_IS_NOT_A_MEMBER_OF_THE_TEAM",
        ]
