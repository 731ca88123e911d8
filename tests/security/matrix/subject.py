"""The user to whom the events happen: everything they hold, and how they and the administrators act."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx

from tests.authenticator import Authenticator
from tests.conftest import Headers
from tests.handlers import passkey_steps, steps
from tests.handlers.people import Person, add_person
from tests.handlers.steps import bearer
from tests.labs.provider import steps as provider_steps
from tests.labs.provider.process import ProviderProcess
from tests.security import second_factor
from tests.security.second_factor import PENDING, SESSION, TRUST, Owner, cookie, set_cookies
from tests.service import PASSWORD, Service

if TYPE_CHECKING:
    from tests.security.matrix.cells import Users, Way

EMAIL = "ada@example.com"
IDENTITY = "1001"
"""The subject of the linked identity at the provider."""


@dataclass
class Subject:
    """A user of one kind. Events change the fields that a person remembers, such as the password."""

    service: Service
    provider: ProviderProcess
    users: "Users"
    id: str
    caller: Headers
    """The session by which the user makes events happen."""
    root: Person
    """An administrator, who also acts in the name of the user."""
    second_root: Person
    grace: Person
    """Somebody else, in whose name the user acts."""
    owner: Owner | None
    email: str = EMAIL
    password: str = PASSWORD
    device: Authenticator = field(default_factory=Authenticator)
    held: dict[str, Any] = field(default_factory=dict)
    """What was opened, by the name of the way."""

    def copy(self) -> "Subject":
        """Return the same user, for an event that changes what they remember."""
        owner = self.owner and replace(self.owner, backup_codes=list(self.owner.backup_codes))
        return replace(self, held=dict(self.held), owner=owner)

    async def open(self, way: "Way") -> Any:
        """Open a way in, or return what was opened before."""
        if way.name not in self.held:
            self.held[way.name] = await way.open(self)
        return self.held[way.name]

    async def get(self, path: str, headers: Headers | None = None, **query: str) -> httpx.Response:
        """GET as a browser without cookies of its own."""
        self.service.client.cookies.clear()
        return await self.service.get(path, headers=headers or {}, params=query)

    async def post(self, path: str, body: Any = None, headers: Headers | None = None) -> httpx.Response:
        """POST as a browser without cookies of its own."""
        self.service.client.cookies.clear()
        return await self.service.post(path, body, headers=headers or {})

    async def do(self, path: str, body: Any = None, headers: Headers | None = None) -> Any:
        """POST something that succeeds, by default as the caller; return its body."""
        answer = await self.post(path, body, self.caller if headers is None else headers)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    async def mailed(self, template: str, to: str | None = None) -> dict[str, Any]:
        """Return the newest mail of a kind."""
        return (await self.service.inbox(to or self.email, template))[-1]

    async def mailed_token(self, template: str, to: str | None = None) -> str:
        """Return the token in the newest mail of a kind."""
        return steps.token_in((await self.mailed(template, to))["link"])

    def code(self, secret: str | None = None) -> str:
        """Return what the present authenticator shows, or one with another secret."""
        assert self.owner is not None
        owner = self.owner if secret is None else replace(self.owner, secret=secret)
        return owner.code(self.service)

    async def is_session(self, headers: Headers, user_id: str | None = None) -> bool:
        """Return whether headers carry a session of the user, or of another one."""
        answer = await self.get("/get-session", headers, disableRefresh="true")
        return answer.status_code == 200 and answer.json()["user"]["id"] == (user_id or self.id)

    def is_let_in(self, answer: httpx.Response) -> bool:
        """Return whether an answer accepts a first factor of this user: a session, or a sign-in that waits."""
        if answer.status_code != 200:
            return False
        body = answer.json()
        return bool(body.get("twoFactorRedirect")) or body["user"]["id"] == self.id

    async def by_password(
        self, password: str | None = None, headers: Headers | None = None
    ) -> httpx.Response:
        """Sign in with a password, by default the one the user knows now."""
        body = {"email": self.email, "password": password or self.password}
        return await self.post("/sign-in/email", body, headers)

    async def by_provider(
        self, flow: provider_steps.Flow | None = None, trust: str | None = None
    ) -> httpx.Response:
        """Sign in with the linked identity, of whose address the provider says that it is not verified.

        So the identity works only while it is linked, and using it verifies nothing.
        """
        self.service.client.cookies.clear()
        self.be_at_provider(IDENTITY, email_verified=False)
        flow = flow or await provider_steps.begin(self.service)
        shown = flow if trust is None else replace(flow, cookies={**flow.cookies, TRUST: trust})
        return await provider_steps.deliver(self.service, await provider_steps.visit(flow), shown)

    def be_at_provider(self, subject: str, *, email_verified: bool) -> None:
        """Have the provider sign this identity in from now on."""
        provider_steps.as_user(self.provider, self.email, subject, email_verified=email_verified)

    async def is_let_in_by_provider(self, answer: httpx.Response) -> bool:
        """Return whether a callback signs this user in, or asks for their second factor."""
        given = set_cookies(answer)
        if given.get(PENDING):
            return True
        return bool(given.get(SESSION)) and await self.is_session(bearer(given[SESSION]))

    async def first_factor(self, trust: str | None = None) -> tuple[str | None, str | None]:
        """Sign in by whatever first factor is left; return the token of a session, and the one of a challenge."""
        headers = {} if trust is None else cookie(TRUST, trust)
        answer = await self.by_password(headers=headers)
        if answer.status_code == 200:
            token = answer.json()["token"]
            return (None, token) if second_factor.is_pending(answer) else (token, None)
        if answer.status_code == 403:
            return None, None
        given = set_cookies(await self.by_provider(trust=trust))
        return given.get(SESSION) or None, given.get(PENDING) or None

    async def any_session(self) -> Headers | None:
        """Return a live session of the user: the caller's, or a new one if the user can still sign in."""
        if await self.is_session(self.caller):
            return self.caller
        by_passkey = await passkey_steps.use(self.service, self.device)
        if by_passkey.status_code == 200 and by_passkey.json()["user"]["id"] == self.id:
            return bearer(by_passkey.json()["session"]["token"])
        session, challenge = await self.first_factor()
        if challenge is not None:
            answer = await self.post("/two-factor/verify-totp", {"code": self.code()}, bearer(challenge))
            session = answer.json()["token"]
        return None if session is None else bearer(session)

    async def sign_in(self) -> Headers:
        """Open one more session, with a backup code where a second factor is asked for."""
        session, challenge = await self.first_factor()
        if challenge is not None:
            session = (await self.use_backup_code(challenge))["token"]
        assert session is not None
        return bearer(session)

    async def use_backup_code(self, challenge: str, **more: Any) -> dict[str, Any]:
        """Pass a challenge with a backup code that was not used yet."""
        assert self.owner is not None
        body = {"code": self.owner.backup_codes.pop(), **more}
        answer: dict[str, Any] = await self.do("/two-factor/verify-backup-code", body, bearer(challenge))
        return answer


Happen = Callable[[Subject], Awaitable[None]]


async def prepare(service: Service, provider: ProviderProcess, users: "Users") -> Subject:
    """Create the administrators, somebody else and a user of one kind, signed in."""
    root = await add_person(service, "root", "root@example.com")
    second = await add_person(service, "root", "second-root@example.com")
    grace = await add_person(service, "user", "grace@example.com")
    ada = await add_person(service, "support", EMAIL)
    if users.verified:
        await steps.verify(service, EMAIL)
    owner = await second_factor.enrol_again(service, EMAIL, ada.headers) if users.two_factor else None
    return Subject(service, provider, users, ada.id, ada.headers, root, second, grace, owner)
