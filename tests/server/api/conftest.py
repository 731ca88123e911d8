"""The pipeline over the small contract, with sessions from memory and handlers that give back what they got."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NoReturn

import httpx
import pytest

from domain.context import Caller
from domain.errors import Unauthenticated
from domain.policy import Policy
from handlers.responses.reply import Header
from models.session import SessionRow
from models.user import UserRow
from server.api import Dependencies, Endpoint, Operation, Request, build
from server.api.client_address import ClientAddressResolver
from server.crypto.keyring import Keyring
from tests import policies
from tests.server.api.small_contract import document

TOKEN = "a1B2" * 8
PENDING = "2fa_" + "c3D4" * 8
BASE_URL = "https://auth.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def policy(**changes: Any) -> Policy:
    """Return a policy with the built-in defaults, without mail, and these changes."""
    without_mail = {"sender": "none"}
    whole = policies.policy(
        base_url=BASE_URL,
        trusted_origins=("https://app.test", "https://*.sites.test"),
        mail=without_mail,
        password_reset=without_mail,
    )
    return replace(whole, **changes)


@dataclass
class Memory:
    """Sessions and challenges that are live, and every call that got through to a handler."""

    sessions: dict[str, Caller]
    live_challenges: dict[str, str] = field(default_factory=dict)
    looked_up: list[tuple[str, bool]] = field(default_factory=list)
    calls: list[Request] = field(default_factory=list)
    headers: tuple[Header, ...] = ()
    """What the sign-out handler puts on its answer."""

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Caller | None:
        """Find a session."""
        self.looked_up += [(token, by_cookie) for token in sent]
        found = [self.sessions[token] for token in sent if token in self.sessions]
        return replace(found[0], by_cookie=by_cookie) if len(found) == 1 else None

    def extension(self, request: Request, caller: Caller) -> datetime | None:
        """Extend no session."""
        return None

    async def extend(self, request: Request, caller: Caller, expires_at: datetime) -> None:
        """Extend no session."""

    async def __call__(self, operation: Operation, request: Request) -> Any:
        """Run the handler with a stand-in for its context."""
        self.calls.append(request)
        return await operation.handler(StandIn(request, self.headers), **request.arguments)


class Unrecorded:
    """Refusals that nobody keeps."""

    def note(self, *_: Any) -> None:
        """Forget a refusal."""


@dataclass
class Challenges:
    """Pending sign-ins that are live."""

    live: dict[str, str]

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> str | None:
        """Find a challenge."""
        found = [self.live[token] for token in sent if token in self.live]
        return found[0] if len(found) == 1 else None


@dataclass
class StandIn:
    """What the small contract's handlers take for their context."""

    call: Request
    headers: tuple[Header, ...]

    @property
    def name(self) -> str | None:
        """The caller's name."""
        return None if self.call.caller is None else self.call.caller.user.name

    @property
    def challenge(self) -> Any:
        """The live challenge."""
        return self.call.challenge


def caller(token: str = TOKEN, name: str = "Ada") -> Caller:
    """Return a signed-in user."""
    session = SessionRow("s1", "u1", True, NOW, NOW, NOW, None, None, None, None)
    user = UserRow(
        "u1", name, "ada@app.test", True, None, NOW, NOW, None, None, False, "user", False, None, None
    )
    return Caller(token, session, user, by_cookie=False)


class Verifiers:
    """API keys of nobody, and one service that verifies them."""

    are_sessions = False

    async def find(self, key: str, request: Request) -> Caller:
        raise Unauthenticated

    def verifier(self, token: str) -> str | None:
        return "service" if token == TOKEN else None


async def no_rule(job: object, facts: object = None) -> NoReturn:
    """Run no rule."""
    raise AssertionError("the small contract has no rules")


def dependencies(memory: Memory, endpoint: Endpoint | None = None) -> Dependencies:
    """Return what a pipeline needs, with its sessions and challenges in memory."""
    return Dependencies(
        sessions=memory,
        challenges=Challenges(memory.live_challenges),
        api_keys=Verifiers(),
        endpoint=endpoint or memory,
        run=no_rule,
        addresses=ClientAddressResolver([]),
        cipher=Keyring(["s" * 32]),
        clock=lambda: NOW,
        refusals=Unrecorded(),
    )


@dataclass
class Peer:
    """A client of one pipeline, and what stands behind the pipeline."""

    http: httpx.AsyncClient
    memory: Memory
    app: Any

    async def get(self, path: str, **options: Any) -> httpx.Response:
        """GET without following redirects."""
        return await self.http.get(path, **options)

    async def post(self, path: str, **options: Any) -> httpx.Response:
        """POST whatever the options say."""
        return await self.http.post(path, **options)


MakePeer = Callable[..., Peer]


@pytest.fixture
async def make_peer() -> AsyncIterator[MakePeer]:
    """Yield pipelines over the small contract: `make_peer(disabled=…, base_path=…, require_authentication=…)`."""
    opened: list[httpx.AsyncClient] = []

    def make(
        *, contract: Any = None, max_body: int = 65536, disabled: frozenset[str] = frozenset(), **changes: Any
    ) -> Peer:
        memory = Memory({TOKEN: caller()})
        app = build(
            document() if contract is None else contract,
            dependencies(memory),
            policy=policy(**changes),
            disabled=disabled,
            max_body=max_body,
            handlers="tests.server.api.echoes",
            is_checked=False,
        )
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE_URL)
        opened.append(client)
        return Peer(client, memory, app)

    yield make
    for client in opened:
        await client.aclose()


@pytest.fixture
def peer(make_peer: MakePeer) -> Peer:
    """A pipeline with the built-in defaults."""
    return make_peer()


@pytest.fixture
def bearer() -> dict[str, str]:
    """The headers of a signed-in program."""
    return {"authorization": f"Bearer {TOKEN}"}
