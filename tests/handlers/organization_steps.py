"""Steps in organizations, organizations with people in them, and a look at what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from tests.conftest import Headers
from tests.handlers.people import Person, add_person
from tests.handlers.steps import code, set_user, token_in
from tests.service import Service

TEAMS_OFF = {"organizations.teams.enabled": "false"}
BOB = "bob@example.com"
MAIL = "organization-invitation"
LEFT_BEHIND = {
    "an active organization without membership": "SELECT s.id FROM session s WHERE s.active_organization_id IS NOT"
    " NULL AND NOT EXISTS (SELECT 1 FROM member m WHERE m.user_id = s.user_id"
    " AND m.organization_id = s.active_organization_id)",
    "an active team without membership": "SELECT s.id FROM session s WHERE s.active_team_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM team_member t WHERE t.user_id = s.user_id AND t.team_id = s.active_team_id)",
    "an organization without owner": "SELECT o.id FROM organization o WHERE NOT EXISTS"
    " (SELECT 1 FROM member m WHERE m.organization_id = o.id AND m.is_owner)",
    "an owner without the role": "SELECT id FROM member WHERE is_owner <> (',' || role || ',' LIKE '%,owner,%')",
    "a member of a team who is not in its organization": "SELECT t.id FROM team_member t JOIN team ON"
    " team.id = t.team_id WHERE NOT EXISTS (SELECT 1 FROM member m WHERE m.id = t.member_id"
    " AND m.user_id = t.user_id AND m.organization_id = team.organization_id)",
    "an accepted invitation without its member, or a pending one with it": "SELECT i.id FROM invitation i"
    ' JOIN "user" u ON u.email = i.email LEFT JOIN member m ON m.user_id = u.id'
    " AND m.organization_id = i.organization_id WHERE i.status = 'pending' AND m.id IS NOT NULL",
    "a pending invitation of somebody who is no member": "SELECT i.id FROM invitation i WHERE i.status = 'pending'"
    " AND NOT EXISTS (SELECT 1 FROM member m WHERE m.user_id = i.inviter_id"
    " AND m.organization_id = i.organization_id)",
}  # fmt: skip
"""What must not be found in the tables at any time, and the statement that would find it."""


async def post(service: Service, by: Person, name: str, /, **body: Any) -> httpx.Response:
    """Call an operation with a body."""
    return await service.post(f"/organization/{name}", body, headers=by.headers)


async def get(service: Service, by: Person, name: str, /, **query: Any) -> httpx.Response:
    """Call an operation with a query."""
    return await service.get(f"/organization/{name}", params=query, headers=by.headers)


def outcome(answer: httpx.Response) -> Any:
    """Return the body of a success, or status and code of an error, as in `400 ROLE_NOT_FOUND`."""
    return answer.json() if answer.is_success else code(answer)


async def session_of(service: Service, person: Person) -> dict[str, Any]:
    """Return the session behind a person's token."""
    answer = await service.get("/get-session", headers=person.headers)
    assert answer.status_code == 200, answer.text
    session: dict[str, Any] = answer.json()["session"]
    return session


async def active_of(service: Service, person: Person) -> str | None:
    """Return the active organization of a person's session."""
    return await active(service, person.headers)


async def add_verified(service: Service, email: str) -> Person:
    """Create a user with a verified address."""
    person = await add_person(service, email=email)
    await set_user(service, email, email_verified=True)
    return person


async def add(service: Service, name: str, *, verified: bool = True) -> Person:
    """Create a user who is called like the part before the @ of their address."""
    email = f"{name}@example.com"
    return await (add_verified(service, email) if verified else add_person(service, email=email))


async def create(service: Service, owner: Person, slug: str = "acme", **more: Any) -> dict[str, Any]:
    """Create an organization, which becomes the active one; return it."""
    made: dict[str, Any] = await do(service, "create", owner.headers, name=slug.title(), slug=slug, **more)
    return made


class Tables(Protocol):
    """What can be asked for rows."""

    async def rows(self, statement: str) -> list[Any]:
        """Read from the database directly."""


async def broken(tables: Tables) -> list[str]:
    """Return what the tables hold that must never be there."""
    looks = [f"SELECT '{what}' AS what WHERE EXISTS ({statement})" for what, statement in LEFT_BEHIND.items()]
    return [row.what for row in await tables.rows(" UNION ALL ".join(looks))]


async def do(service: Service, path: str, caller: Headers, **body: Any) -> Any:
    """POST something that succeeds; return its body."""
    answer = await service.post(f"/organization/{path}", body, headers=caller)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.json()


async def invite(service: Service, inviter: Person, email: str, role: str = "member", **more: Any) -> Any:
    """Invite an address to the active organization; return the invitation."""
    return await do(service, "invite-member", inviter.headers, email=email, role=role, **more)


async def secret(service: Service, email: str) -> str:
    """Return the secret in the newest invitation of an address."""
    return token_in((await service.inbox(email, MAIL))[-1]["link"])


async def invited(service: Service, inviter: Person, email: str, role: str = "member", **more: Any) -> str:
    """Invite an address to the active organization; return the secret."""
    await invite(service, inviter, email, role, **more)
    return await secret(service, email)


async def accept(service: Service, person: Person, id_or_secret: str) -> httpx.Response:
    return await service.post(
        "/organization/accept-invitation", {"invitationId": id_or_secret}, headers=person.headers
    )


async def join(service: Service, inviter: Person, person: Person, role: str = "member", **more: Any) -> str:
    """Have a user join the active organization of another by invitation; return the id of the member."""
    made = await invite(service, inviter, person.email, role, **more)
    answer = await accept(service, person, made["id"])
    assert answer.status_code == 200, answer.text
    return str(answer.json()["member"]["id"])


async def active(service: Service, caller: Headers) -> str | None:
    """Return the id of the active organization of a session."""
    answer = await service.get("/get-session", headers=caller)
    assert answer.status_code == 200, answer.text
    found: str | None = answer.json()["session"].get("activeOrganizationId")
    return found


async def disown_token(service: Service, email: str) -> str:
    """Return the token of the link with which the owner of an address deletes the user."""
    text = (await service.inbox(email, "verify-email"))[-1]["text"]
    return str(text.partition("/not-me?token=")[2].split()[0])


TABLES = ("organization", "member", "invitation", "invitation_team", "team", "team_member")


async def stored(service: Service) -> dict[str, list[str]]:
    """Return everything that is kept of organizations, to see whether it has changed."""
    return {
        table: sorted(repr(tuple(row)) for row in await service.rows(f"SELECT * FROM {table}"))
        for table in TABLES
    }


Request = tuple[str, str, dict[str, Any]]
"""Method, path below /organization/, and the body or the query."""

_NOBODY = "n" * 32


def about(organization_id: str, member_id: str = _NOBODY, team_id: str = _NOBODY) -> list[Request]:
    """Return a request of every operation that can name an organization."""
    named = {"organizationId": organization_id}
    return [
        *(
            ("GET", path, named)
            for path in (
                "get-organization",
                "get-full-organization",
                "list-members",
                "get-active-member-role",
                "list-invitations",
                "list-teams",
            )
        ),
        ("GET", "list-user-teams", {**named, "userId": _NOBODY}),
        ("GET", "list-team-members", {**named, "teamId": team_id}),
        ("POST", "set-active", named),
        ("POST", "update", {**named, "data": {"name": "Taken"}}),
        ("POST", "has-permission", {**named, "permissions": {"member": ["delete"]}}),
        ("POST", "update-member-role", {**named, "memberId": member_id, "role": "member"}),
        ("POST", "remove-member", {**named, "memberIdOrEmail": member_id}),
        ("POST", "invite-member", {**named, "email": "new@example.com", "role": "member"}),
        ("POST", "create-team", {**named, "name": "Sales"}),
        ("POST", "update-team", {"teamId": team_id, "data": {**named, "name": "Sales"}}),
        ("POST", "remove-team", {**named, "teamId": team_id}),
        ("POST", "add-team-member", {**named, "teamId": team_id, "userId": _NOBODY}),
        ("POST", "remove-team-member", {**named, "teamId": team_id, "userId": _NOBODY}),
        ("POST", "leave", named),
        ("POST", "delete", named),
    ]


async def ask(service: Service, request: Request, caller: Headers) -> httpx.Response:
    method, path, values = request
    if method == "GET":
        return await service.get(f"/organization/{path}", params=values, headers=caller)
    return await service.post(f"/organization/{path}", values, headers=caller)


@dataclass(frozen=True)
class Company:
    """An organization with an owner, an administrator and a member, and somebody who adds others."""

    service: Service
    id: str
    keeper: Person
    """A global administrator, who is no member."""
    owner: Person
    admin: Person
    member: Person
    outsider: Person
    """A user who is no member."""

    async def add(self, person: Person, role: str = "member") -> dict[str, Any]:
        """Make a user a member; return the member."""
        answer = await post(
            self.service, self.keeper, "add-member", userId=person.id, role=role, organizationId=self.id
        )
        assert answer.status_code == 200, answer.text
        added: dict[str, Any] = answer.json()
        return added

    async def join(self, role: str, email: str = "") -> Person:
        """Create a user who is a member with a role."""
        person = await add_person(self.service, email=email or f"{role.replace(',', '-')}@acme.example")
        await self.add(person, role)
        return person

    async def id_of(self, person: Person) -> str:
        """Return the identifier of a person's membership."""
        [row] = await self.service.rows(
            "SELECT id FROM member WHERE organization_id = :organization AND user_id = :user",
            organization=self.id,
            user=person.id,
        )
        return str(row.id)

    async def roles(self) -> dict[str, str]:
        """Return the roles of the members, by address."""
        rows = await self.service.rows(
            'SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id '
            "WHERE m.organization_id = :organization",
            organization=self.id,
        )
        return {row.email: row.role for row in rows}

    async def post(self, by: Person, name: str, /, **body: Any) -> httpx.Response:
        """Call an operation that names this organization."""
        return await post(self.service, by, name, **{"organizationId": self.id, **body})

    async def get(self, by: Person, name: str, /, **query: Any) -> httpx.Response:
        """Call an operation that names this organization in its query."""
        return await get(self.service, by, name, **{"organizationId": self.id, **query})

    async def invite(
        self, email: str = BOB, role: str | Sequence[str] = "member", *, by: Person | None = None, **more: Any
    ) -> dict[str, Any]:
        """Invite an address; return the invitation."""
        answer = await self.post(by or self.owner, "invite-member", email=email, role=role, **more)
        assert answer.status_code == 200, answer.text
        invited: dict[str, Any] = answer.json()
        return invited

    async def secret(self, email: str = BOB) -> str:
        """Return the secret of the newest emailed invitation of an address."""
        return await secret(self.service, email)

    async def status_of(self, invitation: dict[str, Any]) -> str:
        """Return the status of an invitation."""
        [row] = await self.service.rows("SELECT status FROM invitation WHERE id = :id", id=invitation["id"])
        return str(row.status)

    async def team(self, name: str = "Sales") -> dict[str, Any]:
        """Create a team; return it."""
        answer = await self.post(self.owner, "create-team", name=name)
        assert answer.status_code == 200, answer.text
        team: dict[str, Any] = answer.json()
        return team


async def found_company(service: Service, slug: str = "acme") -> Company:
    """Create an organization with its people; only the owner's session has it as active organization."""
    people = [
        await add_person(service, email=f"{name}@{slug}.example") for name in ("keeper", "owner", "outsider")
    ]
    keeper, owner, outsider = people
    await set_user(service, keeper.email, role="admin")
    organization = await create(service, owner, slug)
    admin, member = [
        await add_person(service, email=f"{name}@{slug}.example") for name in ("admin", "member")
    ]
    company = Company(service, organization["id"], keeper, owner, admin, member, outsider)
    await company.add(admin, "admin")
    await company.add(member)
    return company
