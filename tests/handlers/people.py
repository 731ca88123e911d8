"""People with roles, for the tests of administration."""

from dataclasses import dataclass

from tests.conftest import Headers
from tests.handlers.steps import bearer, set_user
from tests.service import PASSWORD, Service


@dataclass(frozen=True)
class Person:
    """A user, and the token of their session."""

    id: str
    email: str
    token: str

    @property
    def headers(self) -> Headers:
        """The Bearer header."""
        return bearer(self.token)


async def add_person(service: Service, role: str = "user", email: str = "") -> Person:
    """Create a user with these roles, by default with an email address that names them."""
    email = email or f"{role.replace(',', '-')}@example.com"
    answer = await service.post("/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD})
    service.client.cookies.clear()
    assert answer.status_code == 200, answer.text
    await set_user(service, email, role=role)
    return Person(answer.json()["user"]["id"], email, answer.json()["token"])
