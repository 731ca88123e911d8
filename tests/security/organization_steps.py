"""Steps in organizations: create one, invite, accept, and look at what is stored."""

from typing import Any, Protocol

import httpx

from tests.conftest import Headers
from tests.handlers.people import Person, add_person
from tests.handlers.steps import set_user, token_in
from tests.service import Service

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


class Tables(Protocol):
    """What can be asked for rows."""

    async def rows(self, statement: str) -> list[Any]:
        """Read from the database directly."""


async def broken(tables: Tables) -> list[str]:
    """Return what the tables hold that must never be there."""
    found = {what: await tables.rows(statement) for what, statement in LEFT_BEHIND.items()}
    return [what for what, rows in found.items() if rows]


async def add(service: Service, name: str, *, verified: bool = True) -> Person:
    """Create a user who is called like the part before the @ of their address."""
    person = await add_person(service, email=f"{name}@example.com")
    if verified:
        await set_user(service, person.email, email_verified=True)
    return person


async def do(service: Service, path: str, caller: Headers, **body: Any) -> Any:
    """POST something that succeeds; return its body."""
    answer = await service.post(f"/organization/{path}", body, headers=caller)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.json()


async def create(service: Service, owner: Person, slug: str = "acme", **more: Any) -> str:
    """Create an organization, which becomes the active one; return its id."""
    made = await do(service, "create", owner.headers, name=slug.title(), slug=slug, **more)
    return str(made["id"])


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
