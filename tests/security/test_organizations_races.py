"""Organizations changed by many at once: on SQLite, and on PostgreSQL with two instances that share one database."""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from itertools import cycle, permutations
from pathlib import Path

import httpx
import pytest

from tests.conftest import Headers
from tests.handlers.organization_steps import (
    accept,
    active,
    add,
    broken,
    create,
    disown_token,
    do,
    invite,
    join,
    secret,
)
from tests.handlers.people import Person
from tests.handlers.steps import NEW_PASSWORD, bearer, code, set_user, sign_in
from tests.security.conftest import PATIENT, UNLIMITED
from tests.security.crowd import CROWDS, all_of, turns
from tests.security.limits import told
from tests.service import PASSWORD, Service, close_service, open_service

pytestmark = pytest.mark.both_databases

ROUNDS = 8
SEATS, ORGANIZATIONS, INVITATIONS, PLACES = 4, 3, 60, 3
SETTINGS = {
    **UNLIMITED,
    **PATIENT,
    "limits.enabled": "false",
    "secrets": "s" * 32,
    "delete_user.confirm_by_mail": "false",
    "organizations.membership_limit": str(SEATS),
    "organizations.limit_per_user": str(ORGANIZATIONS),
    "organizations.invitation_limit": str(INVITATIONS),
    "organizations.teams.maximum_members": str(PLACES),
    "organizations.teams.maximum": "4",
}
GONE = "400 INVITATION_NOT_FOUND"
FULL = "403 ORGANIZATION_MEMBERSHIP_LIMIT_REACHED"
TOO_MANY = "403 YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_ORGANIZATIONS"
ONLY_OWNER = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"
WITHOUT_OWNER = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER"


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Service]]:
    """One instance on SQLite, two on one PostgreSQL database."""
    directory: Path = tmp_path_factory.mktemp("race")
    url, number = f"sqlite:///{directory / 'gatewright.db'}", 1
    if request.param == "postgresql":
        url, number = request.getfixturevalue("cluster").create(migrated=True), 2
    instances = [await open_service(url, directory, SETTINGS) for _ in range(number)]
    yield instances
    for instance in instances:
        await close_service(instance)


@pytest.fixture
async def instances(opened: list[Service]) -> list[Service]:
    """The instances, with an empty database."""
    for instance in opened:
        await instance.reset()
    return opened


@pytest.fixture
async def service(instances: list[Service]) -> Service:
    return instances[0]


@pytest.fixture
async def ada(service: Service) -> Person:
    """The owner of Acme, which is active in her session."""
    owner = await add(service, "ada")
    await create(service, owner)
    return owner


async def people(service: Service, number: int, name: str = "user") -> list[Person]:
    return [await add(service, f"{name}{each}") for each in range(number)]


def post(service: Service, path: str, caller: Person | Headers, **body: object) -> Awaitable[httpx.Response]:
    headers = caller.headers if isinstance(caller, Person) else caller
    return service.post(path if path.startswith("/") else f"/organization/{path}", body, headers=headers)


async def at_once(
    instances: Sequence[Service], *requests: tuple[str, Person | Headers, Mapping[str, object]]
) -> list[str]:
    """Send requests at once, to the instances in turn; return status and code of the answers."""
    sent = zip(cycle(instances), requests, strict=False)
    answers = await all_of([post(service, path, who, **body) for service, (path, who, body) in sent])
    return [code(answer) for answer in answers]


async def session_of(service: Service, person: Person) -> Headers:
    """Sign in; return a session in which no organization is active."""
    answer = await sign_in(service, person.email)
    service.client.cookies.clear()
    return bearer(answer.json()["token"])


async def number_of(service: Service, table: str, where: str = "true") -> int:
    return len(await service.rows(f"SELECT id FROM {table} WHERE {where}"))


class TestInvitations:
    @pytest.mark.threat("ORG13", "ORG5")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_one_is_accepted_once(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        bob = await add(service, "bob")
        made = await invite(service, ada, bob.email)
        keys = cycle([made["id"], await secret(service, bob.email)])

        answers = await all_of(
            [accept(each, bob, key) for each, key in zip(turns(instances, number), keys, strict=False)]
        )

        assert told(answers) == {"200": 1, GONE: number - 1}
        assert await number_of(service, "member") == 2
        assert await broken(service) == []

    @pytest.mark.threat("ORG13", "ORG5")
    @pytest.mark.parametrize("other", ["cancel-invitation", "reject-invitation"])
    async def test_of_two_answers_one_counts(
        self, instances: list[Service], service: Service, ada: Person, other: str
    ) -> None:
        for bob in await people(service, ROUNDS):
            made = await invite(service, ada, bob.email)
            body = {"invitationId": made["id"]}
            caller = ada if other == "cancel-invitation" else bob

            found = await at_once(instances, ("accept-invitation", bob, body), (other, caller, body))

            assert sorted(found) == ["200", GONE]
            [row] = await service.rows("SELECT status FROM invitation WHERE id = :id", id=made["id"])
            joined = await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id)
            assert (row.status == "accepted") == (found[0] == "200") == bool(joined)
            if joined:
                await do(service, "remove-member", ada.headers, memberIdOrEmail=joined[0].id)

    @pytest.mark.threat("ORG13", "ORG5")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_of_many_answers_one_counts(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        bob = await add(service, "bob")
        body = {"invitationId": (await invite(service, ada, bob.email))["id"]}
        ways = [("accept-invitation", bob), ("cancel-invitation", ada), ("reject-invitation", bob)]

        found = await at_once(
            instances, *((*way, body) for way, _ in zip(cycle(ways), range(number), strict=False))
        )

        assert sorted(found) == ["200", *[GONE] * (number - 1)]
        [row] = await service.rows("SELECT status FROM invitation")
        assert row.status == ("accepted", "canceled", "rejected")[found.index("200") % 3]
        assert await broken(service) == []

    @pytest.mark.threat("ORG13")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_the_last_seat_is_taken_once(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        for member in await people(service, SEATS - 2, "member"):
            await join(service, ada, member)
        crowd = await people(service, number)
        made = [await invite(service, ada, person.email) for person in crowd]

        answers = await all_of(
            [
                accept(each, person, invitation["id"])
                for each, person, invitation in zip(turns(instances, number), crowd, made, strict=True)
            ]
        )

        assert told(answers) == {"200": 1, FULL: number - 1}
        assert await number_of(service, "member") == SEATS
        assert await number_of(service, "invitation", "status = 'pending'") == number - 1

    @pytest.mark.threat("ORG13")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_users_join_as_many_as_they_may(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        bob = await add(service, "bob")
        for each in range(ORGANIZATIONS - 1):
            await create(service, bob, f"own-{each}")
        owners = [ada, *await people(service, number // 2 - 1, "owner")]
        for each, owner in enumerate(owners[1:]):
            await create(service, owner, f"other-{each}")
        made = [(await invite(service, owner, bob.email))["id"] for owner in owners]

        found = await at_once(
            instances,
            *(("accept-invitation", bob, {"invitationId": each}) for each in made),
            *(("create", bob, {"name": "New", "slug": f"new-{each}"}) for each in range(number // 2)),
        )

        assert sorted(found) == ["200", *[TOO_MANY] * (number - 1)]
        joined = await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id)
        assert len(joined) == ORGANIZATIONS

    @pytest.mark.threat("ORG13")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_they_are_counted(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        # Sent at once, too: with one connection that is open already, the first request is over before all others.
        waiting, new = [
            [
                ("invite-member", ada, {"email": f"{name}{each}@example.com", "role": "member"})
                for each in range(many)
            ]
            for name, many in (("waiting", INVITATIONS - 5), ("new", number))
        ]

        before = await at_once(instances, *waiting)
        found = await at_once(instances, *new)

        left = INVITATIONS - len(waiting)
        assert before == ["200"] * len(waiting)
        assert sorted(found) == [*["200"] * left, *["403 INVITATION_LIMIT_REACHED"] * (number - left)]
        assert await number_of(service, "invitation") == INVITATIONS

    @pytest.mark.threat("ORG13")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_an_address_has_one_that_waits(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        request = ("invite-member", ada, {"email": "bob@example.com", "role": "member"})

        found = await at_once(instances, *[request] * number)

        assert sorted(found) == ["200", *["400 USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION"] * (number - 1)]
        assert len(await service.inbox("bob@example.com")) == 1

    @pytest.mark.threat("ORG11")
    @pytest.mark.parametrize("end", ["removed", "demoted", "deleted"])
    async def test_of_somebody_who_goes_let_in_before_or_never(
        self, instances: list[Service], service: Service, ada: Person, end: str
    ) -> None:
        for number in range(ROUNDS):
            bob, eve = [await add(service, f"{name}{number}") for name in ("bob", "eve")]
            member = await join(service, ada, bob, "admin")
            made = await invite(service, bob, eve.email)
            going: tuple[str, Person, Mapping[str, object]] = {
                "removed": ("remove-member", ada, {"memberIdOrEmail": member}),
                "demoted": ("update-member-role", ada, {"memberId": member, "role": "member"}),
                "deleted": ("/delete-user", bob, {"password": PASSWORD}),
            }[end]

            found = await at_once(instances, going, ("accept-invitation", eve, {"invitationId": made["id"]}))

            assert found[0] == "200"
            assert found[1] in ("200", GONE)
            joined = await service.rows("SELECT id FROM member WHERE user_id = :id", id=eve.id)
            assert bool(joined) == (found[1] == "200")
            assert await broken(service) == []
            for person in (bob, eve):
                await post(service, "remove-member", ada, memberIdOrEmail=person.email)


class TestOwners:
    @pytest.mark.threat("ORG10", "ORG29")
    @pytest.mark.parametrize(
        "way", ["leave", "demote each other", "leave or be deleted", "remove each other"]
    )
    async def test_of_two_one_stays(
        self, instances: list[Service], service: Service, ada: Person, way: str
    ) -> None:
        [acme] = await service.rows("SELECT id FROM organization")
        named = {"organizationId": acme.id}
        [first] = await service.rows("SELECT id FROM member")
        await join(service, ada, await add(service, "member"))
        member = first.id
        for number in range(ROUNDS):
            bob = await add(service, f"bob{number}")
            other = await join(service, ada, bob, "owner")
            pair: Sequence[tuple[str, Person, Mapping[str, object]]] = {
                "leave": [("leave", ada, named), ("leave", bob, named)],
                "demote each other": [
                    ("update-member-role", ada, {**named, "memberId": other, "role": "member"}),
                    ("update-member-role", bob, {**named, "memberId": member, "role": "member"}),
                ],
                "leave or be deleted": [("leave", ada, named), ("/delete-user", bob, {"password": PASSWORD})],
                "remove each other": [
                    ("remove-member", ada, {**named, "memberIdOrEmail": other}),
                    ("remove-member", bob, {**named, "memberIdOrEmail": member}),
                ],
            }[way]

            found = await at_once(instances, *pair)

            assert sorted(found)[0] == "200"
            assert sorted(found)[1] in (
                ONLY_OWNER,
                WITHOUT_OWNER,
                "400 MEMBER_NOT_FOUND",
                "403 YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER",
                "403 YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER",
            )
            assert await broken(service) == []
            [owner] = await service.rows("SELECT user_id, id FROM member WHERE is_owner")
            if owner.user_id == bob.id:
                await post(service, "remove-member", bob, organizationId=acme.id, memberIdOrEmail=ada.email)
                ada, member = bob, other
            else:
                await post(service, "remove-member", ada, organizationId=acme.id, memberIdOrEmail=bob.email)
            await do(service, "set-active", ada.headers, organizationId=acme.id)

    @pytest.mark.threat("ORG10", "ORG29")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_of_many_who_leave_one_stays(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        [acme] = await service.rows("SELECT id FROM organization")
        owners = [ada, *await people(service, SEATS - 1)]
        for owner in owners[1:]:
            await join(service, ada, owner, "owner")
        leaving = [("leave", owner, {"organizationId": acme.id}) for owner in owners]

        found = await at_once(
            instances, *(each for each, _ in zip(cycle(leaving), range(number), strict=False))
        )

        assert found.count("200") == SEATS - 1
        assert set(found) <= {"200", ONLY_OWNER, "400 MEMBER_NOT_FOUND"}
        assert await number_of(service, "member", "is_owner") == 1
        assert await broken(service) == []

    @pytest.mark.threat("ORG10", "ORG29")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_of_many_who_remove_each_other_one_stays(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        owners = [ada, *await people(service, SEATS - 1)]
        for owner in owners[1:]:
            await join(service, ada, owner, "owner")
        ids = {row.user_id: row.id for row in await service.rows("SELECT id, user_id FROM member")}
        [acme] = await service.rows("SELECT id FROM organization")
        ways = [
            request
            for caller, target in permutations(owners, 2)
            for request in (
                ("remove-member", caller, {"organizationId": acme.id, "memberIdOrEmail": target.email}),
                (
                    "update-member-role",
                    caller,
                    {"organizationId": acme.id, "memberId": ids[target.id], "role": "admin"},
                ),
            )
        ]

        found = await at_once(instances, *(each for each, _ in zip(cycle(ways), range(number), strict=False)))

        assert [each for each in found if not each.startswith(("200", "400", "403"))] == []
        assert await number_of(service, "member", "is_owner") >= 1
        assert await broken(service) == []

    @pytest.mark.threat("ORG10")
    async def test_who_follows_a_disowned_user_is_not_deleted_meanwhile(
        self, instances: list[Service], service: Service
    ) -> None:
        for number in range(ROUNDS):
            mallory = await add(service, f"owner{number}", verified=False)
            bob, eve = [await add(service, f"{name}{number}") for name in ("bob", "eve")]
            await create(service, mallory, f"acme-{number}")
            await join(service, mallory, bob, "admin")
            await join(service, mallory, eve)
            token = await disown_token(service, mallory.email)

            found = await at_once(
                instances,
                ("/disown-account", {}, {"token": token}),
                ("/delete-user", bob, {"password": PASSWORD}),
            )

            assert found[0] == "200"
            assert found[1] in ("200", ONLY_OWNER)
            assert await broken(service) == []

    @pytest.mark.threat("ORG29", "R7")
    async def test_whatever_happens_at_once_no_answer_is_a_fault(
        self, instances: list[Service], service: Service
    ) -> None:
        root = await add(service, "root")
        await set_user(service, root.email, role="admin")
        for number in range(ROUNDS):
            ada, bob, eve = [await add(service, f"{name}{number}") for name in ("ada", "bob", "eve")]
            acme = (await create(service, ada, f"acme-{number}"))["id"]
            other, plain = await join(service, ada, bob, "owner"), await join(service, ada, eve, "admin")
            named, new = {"organizationId": acme}, await add(service, f"new{number}")
            made = await invite(service, ada, new.email)
            gone = {"userId": eve.id}

            found = await at_once(
                instances,
                ("leave", ada, named),
                ("remove-member", ada, {**named, "memberIdOrEmail": other}),
                ("update-member-role", bob, {**named, "memberId": plain, "role": "member"}),
                ("update-member-role", ada, {**named, "memberId": other, "role": "admin"}),
                ("/delete-user", bob, {"password": PASSWORD}),
                ("/admin/remove-user", root, gone),
                ("accept-invitation", new, {"invitationId": made["id"]}),
                ("set-active", bob, named),
                ("invite-member", eve, {**named, "email": f"x{number}@example.com", "role": "member"}),
                ("create-team", bob, {**named, "name": "Sales"}),
            )

            assert [each for each in found if not each.startswith(("200", "400", "401", "403"))] == []
            assert await broken(service) == []


class TestActiveOrganizations:
    @pytest.mark.threat("ORG12")
    @pytest.mark.parametrize("way", ["remove-member", "leave", "change-password"])
    async def test_none_is_active_without_membership(
        self, instances: list[Service], service: Service, ada: Person, way: str
    ) -> None:
        [acme] = await service.rows("SELECT id FROM organization")
        named = {"organizationId": acme.id}
        for number in range(ROUNDS):
            bob = await add(service, f"bob{number}")
            member = await join(service, ada, bob)
            session = await session_of(service, bob)
            if way == "change-password":
                await do(service, "set-active", session, **named)
            changed = {
                "currentPassword": PASSWORD,
                "newPassword": f"{PASSWORD} {number}",
                "revokeOtherSessions": True,
            }
            set_active = ("set-active", session, named)
            mine = ("/change-password", session, changed) if way == "change-password" else set_active
            end = (
                ("leave", bob, named)
                if way == "leave"
                else ("remove-member", ada, {"memberIdOrEmail": member})
            )

            found = await at_once(instances, *((mine, end) if number % 2 else (end, mine)))

            assert set(found) <= {"200", "403 USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION", "401 UNAUTHORIZED"}
            assert await broken(service) == []

    @pytest.mark.threat("ORG12", "ORG29")
    async def test_a_deleted_organization_is_joined_by_nobody(
        self, instances: list[Service], service: Service, ada: Person
    ) -> None:
        for number in range(ROUNDS):
            bob, eve = [await add(service, f"{name}{number}") for name in ("bob", "eve")]
            acme = (await create(service, ada, f"acme-{number}"))["id"]
            await join(service, ada, eve)
            made = await invite(service, ada, bob.email)
            named = {"organizationId": acme}
            fresh = [await session_of(service, eve) for _ in range(3)]

            found = await at_once(
                instances,
                *(("set-active", session, named) for session in fresh[:2]),
                ("delete", ada, named),
                ("set-active", fresh[2], named),
                ("accept-invitation", bob, {"invitationId": made["id"]}),
                ("invite-member", ada, {**named, "email": "x@example.com", "role": "member"}),
                ("create-team", ada, {**named, "name": "Sales"}),
            )

            assert found[2] == "200"
            assert [each for each in found if not each.startswith(("200", "400", "403"))] == []
            assert await number_of(service, "organization", f"slug = 'acme-{number}'") == 0
            callers = [*fresh, *(person.headers for person in (ada, bob, eve))]
            assert [await active(service, caller) for caller in callers] == [None] * 6
            assert await broken(service) == []

    @pytest.mark.threat("ORG12", "ORG29")
    async def test_a_password_is_changed_while_the_organization_is_deleted(
        self, instances: list[Service], service: Service, ada: Person
    ) -> None:
        for number in range(ROUNDS):
            bob = await add(service, f"bob{number}")
            acme = (await create(service, ada, f"acme-{number}"))["id"]
            await join(service, ada, bob)
            changed = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, "revokeOtherSessions": True}

            found = await at_once(
                instances, ("/change-password", bob, changed), ("delete", ada, {"organizationId": acme})
            )

            assert found == ["200", "200"]
            assert await broken(service) == []

    @pytest.mark.threat("ORG12", "ORG29")
    async def test_a_removed_team_is_active_nowhere(
        self, instances: list[Service], service: Service, ada: Person
    ) -> None:
        [acme] = await service.rows("SELECT id FROM organization")
        for number in range(ROUNDS):
            team = (await do(service, "create-team", ada.headers, name=f"Team {number}"))["id"]
            await do(service, "add-team-member", ada.headers, teamId=team, userId=ada.id)
            fresh = [await session_of(service, ada) for _ in range(2)]
            for session in fresh:
                await do(service, "set-active", session, organizationId=acme.id)

            found = await at_once(
                instances,
                ("set-active-team", fresh[0], {"teamId": team}),
                ("remove-team", ada, {"teamId": team}),
                ("set-active-team", fresh[1], {"teamId": team}),
            )

            assert found[1] == "200"
            assert {found[0], found[2]} <= {
                "200",
                "400 TEAM_NOT_FOUND",
                "403 USER_IS_NOT_A_MEMBER_OF_THE_TEAM",
            }
            assert await broken(service) == []


class TestLimits:
    @pytest.mark.threat("ORG20", "ORG29")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_a_slug_is_taken_once(
        self, instances: list[Service], service: Service, number: int
    ) -> None:
        crowd = await people(service, number)

        found = await at_once(
            instances,
            *(
                ("create", person, {"name": "Acme", "slug": "acme" if each % 2 else "Acme"})
                for each, person in enumerate(crowd)
            ),
        )

        assert sorted(found) == ["200", *["400 ORGANIZATION_ALREADY_EXISTS"] * (number - 1)]
        assert await number_of(service, "member") == await number_of(service, "team") == 1

    @pytest.mark.threat("ORG20", "ORG29")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_nor_by_renaming(self, instances: list[Service], service: Service, number: int) -> None:
        crowd = await people(service, number)
        for each, person in enumerate(crowd):
            await create(service, person, f"acme-{each}")

        found = await at_once(
            instances, *(("update", person, {"data": {"slug": "acme"}}) for person in crowd)
        )

        assert sorted(found) == ["200", *["400 ORGANIZATION_SLUG_ALREADY_TAKEN"] * (number - 1)]

    @pytest.mark.threat("ORG13")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_an_organization_has_so_many_teams(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        found = await at_once(instances, *(("create-team", ada, {"name": f"T{n}"}) for n in range(number)))

        refused = "400 YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_TEAMS"
        assert sorted(found) == [*["200"] * 3, *[refused] * (number - 3)]
        assert await number_of(service, "team") == 4

    @pytest.mark.threat("ORG13")
    @pytest.mark.parametrize("number", CROWDS)
    async def test_a_team_has_so_many_members(
        self, instances: list[Service], service: Service, ada: Person, number: int
    ) -> None:
        """As many members as the organization may have want to be in a team with one place fewer."""
        members = await people(service, SEATS - 1)
        for person in members:
            await join(service, ada, person)
        [team] = await service.rows("SELECT id FROM team")
        requests = [
            ("add-team-member", ada, {"teamId": team.id, "userId": person.id})
            for person, _ in zip(cycle(members), range(number), strict=False)
        ]

        found = await at_once(instances, *requests)

        assert set(found) == {"200", "403 TEAM_MEMBER_LIMIT_REACHED"}
        assert await number_of(service, "team_member") == PLACES

    @pytest.mark.threat("ORG10")
    async def test_of_two_teams_one_stays(
        self, instances: list[Service], service: Service, ada: Person
    ) -> None:
        await do(service, "create-team", ada.headers, name="Sales")
        teams = await service.rows("SELECT id FROM team")

        found = await at_once(instances, *(("remove-team", ada, {"teamId": team.id}) for team in teams))

        assert sorted(found) == ["200", "400 UNABLE_TO_REMOVE_LAST_TEAM"]


@pytest.mark.threat("ORG28")
async def test_a_user_who_is_deleted_while_accepting_leaves_nothing(
    instances: list[Service], service: Service, ada: Person
) -> None:
    root = await add(service, "root")
    await set_user(service, root.email, role="admin")
    for number, bob in enumerate(await people(service, ROUNDS)):
        made = await invite(service, ada, bob.email)
        accepting = ("accept-invitation", bob, {"invitationId": made["id"]})
        deleting = (
            ("/delete-user", bob, {"password": PASSWORD})
            if number % 2
            else ("/admin/remove-user", root, {"userId": bob.id})
        )

        found = await at_once(instances, accepting, deleting)

        assert found[0] in ("200", GONE, "401 UNAUTHORIZED")
        assert found[1] == "200"
        assert await service.rows("SELECT id FROM member WHERE user_id = :id", id=bob.id) == []
        assert await broken(service) == []
