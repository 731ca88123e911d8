"""Organizations with people in them, for the tests of their operations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tests.handlers.people import Person, add_person
from tests.handlers.steps import code, set_user, token_in
from tests.service import Service

TEAMS_OFF = {"organizations.teams.enabled": "false"}
BOB = "bob@example.com"


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
    active: str | None = (await session_of(service, person)).get("activeOrganizationId")
    return active


async def add_verified(service: Service, email: str) -> Person:
    """Create a user with a verified address."""
    person = await add_person(service, email=email)
    await set_user(service, email, email_verified=True)
    return person


async def create(service: Service, owner: Person, slug: str = "acme", **more: Any) -> dict[str, Any]:
    """Create an organization; return it."""
    answer = await post(service, owner, "create", name=slug.title(), slug=slug, **more)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


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
        return token_in((await self.service.inbox(email, "organization-invitation"))[-1]["link"])

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
