"""The roles of members: each operation for each role of its caller, on each role, in an own, foreign and unknown
organization.

What is expected comes from the tables below, which repeat the specification, and not from the rules of the service.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import pytest

from codegen.bundle import bundle
from codegen.walk import operations
from tests.conftest import MakeService
from tests.handlers.organization_steps import create, get, post
from tests.handlers.people import Person, add_person
from tests.handlers.steps import UNKNOWN, code
from tests.service import Service

CUSTOM: dict[str, dict[str, list[str]]] = {
    "recruiter": {"invitation": ["create", "cancel"]},
    "warden": {"member": ["update", "delete"], "organization": ["update"]},
}
SETTINGS = {
    "organizations.roles": json.dumps(CUSTOM),
    "organizations.limit_per_user": "1000",
    "organizations.invitation_mails_per_user": "0",
    "limits.enabled": "false",
}
GRANTS: dict[str, set[str]] = {
    "owner": {
        *("organization update", "organization delete", "member create", "member update", "member delete"),
        *("invitation create", "invitation cancel", "team create", "team update", "team delete"),
        *("ac create", "ac read", "ac update", "ac delete"),
        *("apiKey create", "apiKey read", "apiKey update", "apiKey delete"),
    },
    "admin": {
        *("organization update", "member create", "member update", "member delete"),
        *("invitation create", "invitation cancel", "team create", "team update", "team delete"),
        *("ac create", "ac read", "ac update", "ac delete", "apiKey read"),
    },
    "member": {"ac read"},
    **{
        role: {f"{resource} {action}" for resource, actions in granted.items() for action in actions}
        for role, granted in CUSTOM.items()
    },
}
TARGETS = ("owner", "admin", "member", "recruiter")
"""The roles of members that an operation is about."""
NOBODY = "nobody"
"""What no role grants."""


def outranks(role: str, other: str) -> bool:
    """Return whether a role has all powers of another, which are counted beyond those of a member."""
    return (other != "owner" or role == "owner") and GRANTS[other] - GRANTS["member"] <= GRANTS[role]


@dataclass(frozen=True)
class Place:
    """An organization with a member, and an invitation, of each role, and a team."""

    id: str
    members: dict[str, str]
    """The identifiers of members by role."""
    users: dict[str, str]
    """The identifiers of users by role."""
    invitations: dict[str, str]
    team: str


Body = Callable[[Place, str], dict[str, Any]]


def new_role(new: str, place: Place, role: str) -> dict[str, Any]:
    """Return the body that gives the member with a role a new one."""
    return {"memberId": place.members[role], "role": new}


def invitation_of(key: str, place: Place, role: str) -> dict[str, Any]:
    """Return the body that names the invitation of a role by this key."""
    return {key: place.invitations[role]}


@dataclass(frozen=True)
class Case:
    """An operation and what it answers."""

    operation: str
    path: str
    stranger: str
    """The answer to a caller who is no member, whether there is such an organization or not."""
    needs: str | None = None
    denied: str = ""
    """The answer without the permission."""
    body: Body = lambda place, role: {}
    outranked: str = ""
    """The answer if the role is more powerful than the caller's."""
    missing: str = ""
    """The answer if the object belongs to another organization than the named one."""
    is_read: bool = False
    roles: tuple[str, ...] = field(default=("member",))
    names_organization: bool = True


NOT_A_MEMBER = "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"
NOT_THIS = "403 YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION"
NO_MEMBER = "400 MEMBER_NOT_FOUND"
NO_TEAM = "400 TEAM_NOT_FOUND"
NO_INVITATION = "400 INVITATION_NOT_FOUND"
NOT_ALLOWED = "403 YOU_ARE_NOT_ALLOWED_TO"
NOT_IN_TEAM = "403 USER_IS_NOT_A_MEMBER_OF_THE_TEAM"


def by_managers(operation: str, path: str, needs: str, denied: str, **more: Any) -> Case:
    """Return the case of an operation whose refusal is the same for strangers and for members without permission."""
    return Case(operation, path, denied, needs, denied, **more)


CASES = [
    Case("organizations.get", "get-organization", f"403 {NOT_A_MEMBER}", is_read=True),
    Case("organizations.get_full", "get-full-organization", f"403 {NOT_A_MEMBER}", is_read=True),
    Case("organizations.set_active", "set-active", f"403 {NOT_A_MEMBER}"),
    Case(
        "organizations.update",
        "update",
        f"400 {NOT_A_MEMBER}",
        "organization update",
        f"{NOT_ALLOWED}_UPDATE_THIS_ORGANIZATION",
        lambda place, role: {"data": {"name": "New"}},
    ),
    Case(
        "organizations.delete",
        "delete",
        f"400 {NOT_A_MEMBER}",
        "organization delete",
        f"{NOT_ALLOWED}_DELETE_THIS_ORGANIZATION",
    ),
    Case(
        "organizations.has_permission",
        "has-permission",
        f"403 {NOT_A_MEMBER}",
        body=lambda place, role: {"permissions": {"member": ["update"]}},
    ),
    Case("organizations.list_members", "list-members", NOT_THIS, is_read=True),
    Case(
        "organizations.get_active_member_role",
        "get-active-member-role",
        NOT_THIS,
        body=lambda place, role: {"userId": place.users[role]},
        is_read=True,
        roles=TARGETS,
    ),
    *[
        Case(
            "organizations.update_member_role",
            "update-member-role",
            NO_MEMBER,
            "member update",
            f"{NOT_ALLOWED}_UPDATE_THIS_MEMBER",
            partial(new_role, new),
            outranked=f"{NOT_ALLOWED}_UPDATE_THIS_MEMBER",
            missing=NO_MEMBER,
            roles=TARGETS if new == "member" else ("member",),
        )
        for new in TARGETS
    ],
    Case(
        "organizations.remove_member",
        "remove-member",
        NO_MEMBER,
        "member delete",
        f"{NOT_ALLOWED}_DELETE_THIS_MEMBER",
        lambda place, role: {"memberIdOrEmail": place.members[role]},
        outranked=f"{NOT_ALLOWED}_DELETE_THIS_MEMBER",
        missing=NO_MEMBER,
        roles=TARGETS,
    ),
    Case(
        "organizations.remove_member",
        "remove-member",
        NO_MEMBER,
        "member delete",
        f"{NOT_ALLOWED}_DELETE_THIS_MEMBER",
        lambda place, role: {"memberIdOrEmail": f"{role}@targets.example"},
        outranked=f"{NOT_ALLOWED}_DELETE_THIS_MEMBER",
        roles=TARGETS,
    ),
    Case("organizations.leave", "leave", NO_MEMBER),
    by_managers(
        "organizations.add_member",
        "add-member",
        NOBODY,
        f"{NOT_ALLOWED}_INVITE_USERS_TO_THIS_ORGANIZATION",
        body=lambda place, role: {"userId": place.users[role], "role": role},
    ),
    Case(
        "organizations.invite_member",
        "invite-member",
        NO_MEMBER,
        "invitation create",
        f"{NOT_ALLOWED}_INVITE_USERS_TO_THIS_ORGANIZATION",
        lambda place, role: {"email": "new@example.com", "role": role},
        outranked=f"{NOT_ALLOWED}_INVITE_USER_WITH_THIS_ROLE",
        roles=TARGETS,
    ),
    *[
        Case(
            f"organizations.{name}_invitation",
            f"{name}-invitation",
            "403 YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION",
            NOBODY,
            "403 YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION",
            partial(invitation_of, key),
            is_read=name == "get",
            names_organization=False,
        )
        for name, key in (("get", "id"), ("accept", "invitationId"), ("reject", "invitationId"))
    ],
    Case(
        "organizations.cancel_invitation",
        "cancel-invitation",
        NO_INVITATION,
        "invitation cancel",
        f"{NOT_ALLOWED}_CANCEL_THIS_INVITATION",
        lambda place, role: {"invitationId": place.invitations[role]},
        # Only an invitation of an owner takes more than the permission.
        outranked=f"{NOT_ALLOWED}_CANCEL_THIS_INVITATION",
        roles=("owner", "recruiter", "member"),
        names_organization=False,
    ),
    Case(
        "organizations.list_invitations",
        "list-invitations",
        NOT_THIS,
        "invitation create",
        f"{NOT_ALLOWED}_LIST_INVITATIONS",
        is_read=True,
    ),
    by_managers(
        "teams.create",
        "create-team",
        "team create",
        f"{NOT_ALLOWED}_CREATE_TEAMS_IN_THIS_ORGANIZATION",
        body=lambda place, role: {"name": "New"},
    ),
    by_managers(
        "teams.update",
        "update-team",
        "team update",
        f"{NOT_ALLOWED}_UPDATE_THIS_TEAM",
        body=lambda place, role: {"teamId": place.team, "data": {"name": "New"}},
        missing=NO_TEAM,
    ),
    by_managers(
        "teams.remove",
        "remove-team",
        "team delete",
        f"{NOT_ALLOWED}_DELETE_TEAMS_IN_THIS_ORGANIZATION",
        body=lambda place, role: {"teamId": place.team},
        missing=NO_TEAM,
    ),
    Case("teams.list_all", "list-teams", f"{NOT_ALLOWED}_ACCESS_THIS_ORGANIZATION", is_read=True),
    Case(
        "teams.list_of_user",
        "list-user-teams",
        NOT_THIS,
        "member update",
        f"{NOT_ALLOWED}_UPDATE_THIS_MEMBER",
        lambda place, role: {"userId": place.users[role]},
        is_read=True,
    ),
    by_managers(
        "teams.list_members",
        "list-team-members",
        "team update",
        NOT_IN_TEAM,
        body=lambda place, role: {"teamId": place.team},
        missing=NO_TEAM,
        is_read=True,
    ),
    Case(
        "teams.set_active",
        "set-active-team",
        NO_TEAM,
        NOBODY,
        NOT_IN_TEAM,
        lambda place, role: {"teamId": place.team},
        names_organization=False,
    ),
    by_managers(
        "teams.add_member",
        "add-team-member",
        "member update",
        f"{NOT_ALLOWED}_CREATE_A_NEW_TEAM_MEMBER",
        body=lambda place, role: {"teamId": place.team, "userId": place.users[role]},
        missing=NO_TEAM,
        roles=("owner", "member"),
    ),
    by_managers(
        "teams.remove_member",
        "remove-team-member",
        "member delete",
        f"{NOT_ALLOWED}_REMOVE_A_TEAM_MEMBER",
        body=lambda place, role: {"teamId": place.team, "userId": place.users[role]},
        missing=NO_TEAM,
    ),
]
WITHOUT_ORGANIZATION = {
    *("organizations.create", "organizations.check_slug", "organizations.list_own"),
    *("organizations.get_active_member", "organizations.list_user_invitations"),
}
"""Operations that name no organization and nothing that belongs to one."""


@dataclass
class World:
    """A service with two users of each role: one calls, one is a target."""

    service: Service
    keeper: Person
    callers: dict[str, Person]
    targets: dict[str, Person]
    number: int = 0

    async def call(self, by: Person, case: Case, place: Place, role: str, organization: str) -> str:
        """Call an operation on the objects of a place; return status and code."""
        body = case.body(place, role)
        if case.names_organization:
            body["organizationId"] = organization
        caller = get if case.is_read else post
        return code(await caller(self.service, by, case.path, **body))

    async def add(self, organization: str, person: Person, role: str) -> str:
        """Make a user a member; return the identifier of the member."""
        body = {"userId": person.id, "role": role, "organizationId": organization}
        answer = await post(self.service, self.keeper, "add-member", **body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    async def place(self) -> Place:
        """Create an organization of the targets."""
        self.number += 1
        owner = self.targets["owner"]
        made = await create(self.service, owner, f"place-{self.number}")
        organization = made["id"]
        members = {"owner": made["members"][0]["id"]}
        for role in TARGETS[1:]:
            members[role] = await self.add(organization, self.targets[role], role)
        invitations = {}
        for role in TARGETS:
            body = {"organizationId": organization, "email": f"{role}@invited.example", "role": role}
            invitations[role] = (await post(self.service, owner, "invite-member", **body)).json()["id"]
        team = (
            await post(self.service, owner, "create-team", name="Team", organizationId=organization)
        ).json()
        body = {"organizationId": organization, "teamId": team["id"], "userId": self.targets["member"].id}
        await post(self.service, owner, "add-team-member", **body)
        users = {role: person.id for role, person in self.targets.items()}
        return Place(organization, members, users, invitations, team["id"])

    async def own(self, role: str) -> Place:
        """Create an organization of which a caller is a member; it is the active one of the caller."""
        place = await self.place()
        await self.add(place.id, self.callers[role], role)
        answer = await post(self.service, self.callers[role], "set-active", organizationId=place.id)
        assert answer.status_code == 200, answer.text
        return place

    async def stored(self) -> list[Any]:
        """Return all rows that belong to organizations, and what is active in sessions."""
        tables = ("organization", "member", "invitation", "invitation_team", "team", "team_member")
        rows = [tuple(row) for table in tables for row in await self.service.rows(f"SELECT * FROM {table}")]
        session = "SELECT id, active_organization_id, active_team_id FROM session"
        rows += [tuple(row) for row in await self.service.rows(session)]
        return sorted(rows, key=str)


@pytest.fixture
async def world(make_service: MakeService) -> World:
    service = await make_service(SETTINGS)
    keeper = await add_person(service, "admin", "keeper@example.com")
    callers = {role: await add_person(service, email=f"{role}@callers.example") for role in GRANTS}
    targets = {role: await add_person(service, email=f"{role}@targets.example") for role in TARGETS}
    return World(service, keeper, callers, targets)


def expected_in_own(case: Case, caller: str, role: str) -> str:
    """Return the answer to a member about a role in their own organization."""
    if case.needs is not None and case.needs not in GRANTS[caller]:
        return case.denied
    if case.operation == "organizations.cancel_invitation":
        return case.outranked if role == "owner" != caller else "200"
    if not case.outranked:
        return "200"
    touched = [role]
    if case.operation == "organizations.update_member_role":
        touched.append(case.body(Place("", {role: ""}, {}, {}, ""), role)["role"])
    return "200" if all(outranks(caller, each) for each in touched) else case.outranked


def name_of(case: Case) -> str:
    return f"{case.operation}-{CASES.index(case)}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
async def test_in_ones_own_organization(world: World, case: Case) -> None:
    seen, expected = {}, {}
    for caller, role in product(GRANTS, case.roles):
        place = await world.own(caller)
        before = await world.stored()
        seen[caller, role] = await world.call(world.callers[caller], case, place, role, place.id)
        expected[caller, role] = expected_in_own(case, caller, role)
        if seen[caller, role] != "200" or case.is_read:
            assert await world.stored() == before, (caller, role)

    assert seen == expected


@pytest.mark.parametrize("case", CASES, ids=name_of)
async def test_in_a_foreign_and_an_unknown_organization(world: World, case: Case) -> None:
    foreign = await world.place()
    nowhere = Place(
        UNKNOWN,
        dict.fromkeys(TARGETS, UNKNOWN),
        dict.fromkeys(TARGETS, UNKNOWN),
        dict.fromkeys(TARGETS, UNKNOWN),
        UNKNOWN,
    )
    for caller in GRANTS:
        await world.own(caller)
    before = await world.stored()

    seen = {
        (caller, role, place.id): await world.call(world.callers[caller], case, place, role, place.id)
        for caller, role, place in product(GRANTS, case.roles, (foreign, nowhere))
    }

    recipients = case.stranger.startswith("403 YOU_ARE_NOT_THE_RECIPIENT")
    assert seen == {
        cell: NO_INVITATION if recipients and cell[2] == UNKNOWN else case.stranger for cell in seen
    }
    assert await world.stored() == before


@pytest.mark.parametrize("case", [case for case in CASES if case.missing], ids=name_of)
async def test_an_object_of_another_organization_is_unknown_in_ones_own(world: World, case: Case) -> None:
    foreign = await world.place()
    own = {caller: await world.own(caller) for caller in GRANTS}
    before = await world.stored()

    seen = {
        (caller, role): await world.call(world.callers[caller], case, foreign, role, own[caller].id)
        for caller, role in product(GRANTS, case.roles)
    }

    # Who is a member of the team may list its members without the permission, so the team is looked for first.
    always = case.operation == "teams.list_members"
    assert seen == {
        (caller, role): case.missing if always or case.needs in GRANTS[caller] else case.denied
        for caller, role in seen
    }
    assert await world.stored() == before


async def test_a_global_administrator_is_a_stranger(world: World) -> None:
    place = await world.place()
    cases = [case for case in CASES if case.operation != "organizations.add_member"]

    seen = {case.operation: await world.call(world.keeper, case, place, "member", place.id) for case in cases}

    no_active = {"teams.set_active": "400 NO_ACTIVE_ORGANIZATION"}
    assert seen == {case.operation: no_active.get(case.operation, case.stranger) for case in cases}


def test_every_operation_of_organizations_is_in_the_table() -> None:
    ids = {operation.spec["operationId"] for operation in operations(bundle(internal=True))}
    known = {one for one in ids if one.startswith(("organizations.", "teams."))}

    assert {case.operation for case in CASES} | WITHOUT_ORGANIZATION == known
