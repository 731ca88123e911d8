"""The operations of openapi/paths/teams.yaml, and teams in the operations of organizations."""

from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    BOB,
    TEAMS_OFF,
    Company,
    add_verified,
    create,
    found_company,
    get,
    outcome,
    post,
    session_of,
)
from tests.handlers.people import Person, add_person
from tests.handlers.steps import AT, UNKNOWN, code, refusal
from tests.service import Service
from tests.trail import only

NO_ACTIVE = "400 NO_ACTIVE_ORGANIZATION"
NO_TEAM = "400 TEAM_NOT_FOUND"
NOT_IN_TEAM = "403 USER_IS_NOT_A_MEMBER_OF_THE_TEAM"
LATER = "2026-01-01T12:00:01.000Z"


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


async def teams_of(company: Company) -> list[str]:
    """Return the names of the teams of an organization."""
    return [team["name"] for team in (await company.get(company.member, "list-teams")).json()]


async def put(company: Company, person: Person, team: dict[str, Any]) -> Any:
    """Add a person to a team; return the membership, or the error."""
    return outcome(await company.post(company.owner, "add-team-member", teamId=team["id"], userId=person.id))


async def active_team(service: Service, person: Person) -> str | None:
    """Return the active team of a person's session."""
    active: str | None = (await session_of(service, person)).get("activeTeamId")
    return active


@pytest.mark.operation("teams.create")
class TestCreate:
    async def test_a_team_is_created(self, acme: Company) -> None:
        made = await acme.post(acme.admin, "create-team", name="Sales")

        team = made.json()
        assert team == {
            "id": team["id"],
            "name": "Sales",
            "organizationId": acme.id,
            "createdAt": AT,
            "updatedAt": None,
        }
        record = await only(acme.service, "team.created", team=team["id"])
        assert record.details["organizationId"] == acme.id

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        answers = [
            await post(service, acme.member, "create-team", name="Sales"),
            await acme.post(acme.member, "create-team", name="Sales"),
            await acme.post(acme.outsider, "create-team", name="Sales"),
            await post(service, acme.owner, "create-team", name="Sales", organizationId=UNKNOWN),
        ]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_CREATE_TEAMS_IN_THIS_ORGANIZATION"
        assert [code(one) for one in answers] == [NO_ACTIVE, *[forbidden] * 3]
        assert refusal(answers[1])[2] == "You are not allowed to create teams in this organization"

    @pytest.mark.parametrize("name", ["", " ", "x" * 129, "a\nb", None, 1])
    async def test_a_wrong_name(self, acme: Company, name: object) -> None:
        answer = await acme.post(acme.owner, "create-team", name=name)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert "body.name" in answer.json()["message"]

    @settings(maximum=2)
    async def test_an_organization_has_a_limited_number(self, acme: Company) -> None:
        await acme.team()

        assert refusal(await acme.post(acme.owner, "create-team", name="Third")) == (
            400,
            "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_TEAMS",
            "You have reached the maximum number of teams",
        )


@pytest.mark.operation("teams.update")
class TestUpdate:
    async def test_a_team_is_renamed(self, acme: Company) -> None:
        team = await acme.team()
        acme.service.clock.advance(seconds=1)

        renamed = await acme.post(acme.admin, "update-team", teamId=team["id"], data={"name": "Marketing"})

        assert renamed.json() == {**team, "name": "Marketing", "updatedAt": LATER}
        assert (await only(acme.service, "team.updated")).details["team"] == team["id"]

    async def test_the_organization_may_be_among_the_data(self, acme: Company) -> None:
        service = acme.service
        team = await acme.team()
        data = {"name": "Marketing", "organizationId": acme.id}

        answers = [
            await post(service, acme.admin, "update-team", teamId=team["id"], data=data),
            await acme.post(acme.admin, "update-team", teamId=team["id"], data=data),
            await post(
                service, acme.admin, "update-team", teamId=team["id"], data=data, organizationId=UNKNOWN
            ),
            await post(service, acme.owner, "update-team", teamId=team["id"], data={"name": "Sales"}),
        ]

        assert [code(one) for one in answers] == ["200", "200", "400 VALIDATION_ERROR", "200"]

    async def test_without_a_name_nothing_changes(self, acme: Company) -> None:
        team = await acme.team()

        assert (await acme.post(acme.owner, "update-team", teamId=team["id"], data={})).json() == team

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        team, foreign = await acme.team(), await other.team()
        right = {"teamId": team["id"], "data": {"name": "New"}}
        answers = [
            await post(service, acme.member, "update-team", **right),
            await acme.post(acme.member, "update-team", **right),
            await acme.post(acme.outsider, "update-team", **{**right, "teamId": UNKNOWN}),
            await acme.post(acme.owner, "update-team", **{**right, "teamId": UNKNOWN}),
            await acme.post(acme.owner, "update-team", **{**right, "teamId": foreign["id"]}),
            await acme.post(acme.owner, "update-team", **{**right, "data": {"name": " "}}),
            await acme.post(acme.owner, "update-team", teamId=team["id"]),
        ]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_TEAM"
        assert [code(one) for one in answers] == [
            NO_ACTIVE,
            forbidden,
            forbidden,
            NO_TEAM,
            NO_TEAM,
            "400 VALIDATION_ERROR",
            "400 VALIDATION_ERROR",
        ]
        assert sorted(await teams_of(other)) == ["Other", "Sales"]


@pytest.mark.operation("teams.remove")
class TestRemove:
    async def test_it_leaves_sessions_and_invitations(self, acme: Company) -> None:
        service = acme.service
        team, other = await acme.team(), await acme.team("Other")
        await put(acme, acme.member, team)
        await acme.post(acme.member, "set-active")
        await post(service, acme.member, "set-active-team", teamId=team["id"])
        invited = await acme.invite(teamId=[team["id"], other["id"]])

        removed = await acme.post(acme.admin, "remove-team", teamId=team["id"])

        assert removed.json() == {"message": "Team removed successfully."}
        assert await active_team(service, acme.member) is None
        [listed] = (await acme.get(acme.owner, "list-invitations")).json()
        assert (listed["id"], listed["teamId"]) == (invited["id"], other["id"])
        assert (await only(service, "team.removed")).details["team"] == team["id"]

    async def test_the_last_one_stays(self, acme: Company) -> None:
        [team] = (await acme.get(acme.owner, "list-teams")).json()

        refused = await acme.post(acme.owner, "remove-team", teamId=team["id"])

        assert refusal(refused) == (400, "UNABLE_TO_REMOVE_LAST_TEAM", "Unable to remove last team")

    @settings(allow_removing_all=True)
    async def test_all_may_be_removed(self, acme: Company) -> None:
        [team] = (await acme.get(acme.owner, "list-teams")).json()

        assert code(await acme.post(acme.owner, "remove-team", teamId=team["id"])) == "200"
        assert await teams_of(acme) == []
        assert await active_team(acme.service, acme.owner) is None

    async def test_refusals(self, acme: Company) -> None:
        other = await found_company(acme.service, "other")
        team, foreign = await acme.team(), await other.team()
        answers = [
            await post(acme.service, acme.member, "remove-team", teamId=team["id"]),
            await acme.post(acme.member, "remove-team", teamId=team["id"]),
            await acme.post(acme.outsider, "remove-team", teamId=team["id"]),
            await acme.post(acme.owner, "remove-team", teamId=foreign["id"]),
            await acme.post(acme.owner, "remove-team", teamId=UNKNOWN),
        ]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_DELETE_TEAMS_IN_THIS_ORGANIZATION"
        assert [code(one) for one in answers] == [NO_ACTIVE, forbidden, forbidden, NO_TEAM, NO_TEAM]


@pytest.mark.operation("teams.list_all")
class TestList:
    async def test_members_see_all_oldest_first(self, acme: Company) -> None:
        acme.service.clock.advance(seconds=1)
        await acme.team()

        assert await teams_of(acme) == ["Acme", "Sales"]
        assert [one["name"] for one in (await get(acme.service, acme.owner, "list-teams")).json()] == [
            "Acme",
            "Sales",
        ]

    async def test_refusals(self, acme: Company) -> None:
        answers = [
            await get(acme.service, acme.member, "list-teams"),
            await acme.get(acme.outsider, "list-teams"),
            await get(acme.service, acme.owner, "list-teams", organizationId=UNKNOWN),
        ]

        forbidden = "403 YOU_ARE_NOT_ALLOWED_TO_ACCESS_THIS_ORGANIZATION"
        assert [code(one) for one in answers] == [NO_ACTIVE, forbidden, forbidden]
        assert refusal(answers[1])[2] == "You are not allowed to access this organization as an owner"


@pytest.mark.operation("teams.set_active")
class TestSetActive:
    async def test_a_team_of_the_caller_and_none(self, acme: Company) -> None:
        service = acme.service
        team = await acme.team()
        await put(acme, acme.member, team)
        await acme.post(acme.member, "set-active")
        seen = []
        for body in ({"teamId": team["id"]}, {}, {"teamId": None}, {}):
            answer = await post(service, acme.member, "set-active-team", **body)
            seen.append((answer.json(), await active_team(service, acme.member)))

        assert seen == [(team, team["id"]), (team, team["id"]), (None, None), (None, None)]

    async def test_another_organization_clears_it(self, acme: Company) -> None:
        service = acme.service
        assert await active_team(service, acme.owner) is not None
        other = await found_company(service, "other")
        await other.add(acme.owner)

        await other.post(acme.owner, "set-active")

        session = await session_of(service, acme.owner)
        assert session["activeOrganizationId"] == other.id
        assert "activeTeamId" not in session

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        team, foreign = await acme.team(), await other.team()
        await put(other, other.owner, foreign)
        answers = [
            await post(service, acme.member, "set-active-team", teamId=team["id"]),
            await post(service, acme.owner, "set-active-team", teamId=foreign["id"]),
            await post(service, acme.owner, "set-active-team", teamId=UNKNOWN),
            await post(service, acme.owner, "set-active-team", teamId=team["id"]),
        ]

        assert [code(one) for one in answers] == [NO_ACTIVE, NO_TEAM, NO_TEAM, NOT_IN_TEAM]
        assert await active_team(service, acme.owner) not in {None, team["id"]}


class TestInOrganizations:
    """Teams in the operations of organizations."""

    async def test_an_organization_begins_with_a_team(self, service: Service) -> None:
        ada = await add_person(service, email="ada@example.com")
        await create(service, ada)

        [team] = (await get(service, ada, "get-full-organization")).json()["teams"]
        assert team["name"] == "Acme"
        assert await active_team(service, ada) == team["id"]
        assert [one["userId"] for one in (await get(service, ada, "list-team-members")).json()] == [ada.id]

    @settings(default_team=False)
    async def test_it_may_begin_without(self, service: Service) -> None:
        ada = await add_person(service, email="ada@example.com")
        await create(service, ada)

        assert (await get(service, ada, "get-full-organization")).json()["teams"] == []

    @pytest.mark.parametrize("number", [0, 1, 2])
    async def test_an_invitation_leads_into_teams(self, acme: Company, number: int) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        teams = [(await acme.team(f"Team {one}"))["id"] for one in range(number)]
        invited = await acme.invite(teamId=teams[0] if number == 1 else teams)

        accepted = await post(service, bob, "accept-invitation", invitationId=invited["id"])

        text = ",".join(sorted(teams)) or None
        assert invited["teamId"] == accepted.json()["invitation"]["teamId"] == text
        joined = [one["id"] for one in (await get(service, bob, "list-user-teams")).json()]
        assert sorted(joined) == sorted(teams)
        assert await active_team(service, bob) == (teams[0] if number == 1 else None)

    @settings(maximum_members=1)
    async def test_teams_of_an_invitation_are_checked(self, acme: Company) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        other = await found_company(service, "other")
        free, full, foreign = await acme.team("Free"), await acme.team("Full"), await other.team()
        await put(acme, acme.member, full)

        refused = [
            code(await acme.post(acme.owner, "invite-member", email=BOB, role="member", teamId=team))
            for team in (UNKNOWN, foreign["id"], [free["id"], full["id"]], [free["id"]] * 21)
        ]
        invited = await acme.invite(teamId=[free["id"], free["id"]])
        await put(acme, acme.member, free)
        late = await post(service, bob, "accept-invitation", invitationId=invited["id"])

        assert refused == [NO_TEAM, NO_TEAM, "403 TEAM_MEMBER_LIMIT_REACHED", "400 VALIDATION_ERROR"]
        assert refusal(late) == (403, "TEAM_MEMBER_LIMIT_REACHED", "Team member limit reached")
        assert await acme.status_of(invited) == "pending"
        assert BOB not in await acme.roles()

    async def test_an_added_member_may_join_a_team(self, acme: Company) -> None:
        team = await acme.team()
        body = {"userId": acme.outsider.id, "role": "member"}

        refused = await acme.post(acme.keeper, "add-member", teamId=UNKNOWN, **body)
        added = await acme.post(acme.keeper, "add-member", teamId=team["id"], **body)

        assert (code(refused), code(added)) == (NO_TEAM, "200")
        listed = (await get(acme.service, acme.outsider, "list-user-teams")).json()
        assert [one["id"] for one in listed] == [team["id"]]

    @pytest.mark.parametrize("name", ["leave", "remove-member"])
    async def test_a_former_member_is_in_no_team(self, acme: Company, name: str) -> None:
        service = acme.service
        team = await acme.team()
        await put(acme, acme.member, team)
        await acme.post(acme.member, "set-active")
        await post(service, acme.member, "set-active-team", teamId=team["id"])
        body = {} if name == "leave" else {"memberIdOrEmail": acme.member.email}

        await acme.post(acme.member if name == "leave" else acme.owner, name, **body)

        session = await session_of(service, acme.member)
        assert not {"activeTeamId", "activeOrganizationId"} & set(session)
        assert (await get(service, acme.member, "list-user-teams")).json() == []
        assert (await acme.get(acme.owner, "list-team-members", teamId=team["id"])).json() == []


@pytest.mark.parametrize("service", [TEAMS_OFF], indirect=True)
class TestSwitchedOff:
    async def test_the_operations_do_not_exist(self, acme: Company) -> None:
        posts = (
            "create-team",
            "update-team",
            "remove-team",
            "set-active-team",
            "add-team-member",
            "remove-team-member",
        )
        answers = [
            *[await acme.post(acme.owner, name) for name in posts],
            *[
                await acme.get(acme.owner, name)
                for name in ("list-teams", "list-user-teams", "list-team-members")
            ],
        ]

        assert {code(one) for one in answers} == {"404 NOT_FOUND"}

    async def test_teams_are_ignored_and_left_out(self, acme: Company) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)

        invited = await acme.invite(teamId=UNKNOWN)
        accepted = (await post(service, bob, "accept-invitation", invitationId=invited["id"])).json()
        full = (await acme.get(acme.owner, "get-full-organization")).json()

        assert "teamId" not in {*invited, *accepted["invitation"]}
        assert "teams" not in full
        assert "activeTeamId" not in await session_of(service, acme.owner)
        assert await service.rows("SELECT id FROM team") == []
