"""The pipeline over the small contract, with sessions from memory and handlers that give back what they got."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from domain.context import Caller
from domain.origins import TrustedOrigins
from domain.policy import Cookies, PasswordRules, Policy, SessionRules
from handlers.reply import Header
from models.queries import SessionRow, UserRow
from server.addresses import Addresses
from server.pipeline import Call, build
from tests import policies
from tests.server.pipeline.small_contract import document

TOKEN = "a1B2" * 8
PENDING = "2fa_" + "c3D4" * 8
BASE_URL = "https://auth.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def policy(**changes: Any) -> Policy:
    """Give a policy with the built-in defaults and these changes."""
    day = timedelta(days=1)
    whole = Policy(
        app_name="Gatewright",
        base_url=BASE_URL,
        base_path="",
        origins=TrustedOrigins.parse(BASE_URL, ["https://app.test", "https://*.sites.test"]),
        cookies=Cookies("service.session-token", "service.", True, True, "Lax", None),
        session=SessionRules(7 * day, day, 90 * day, day, day, True),
        password=PasswordRules(8, 128, frozenset()),
        two_factor=policies.policy().two_factor,
        require_authentication=True,
        require_current_password=True,
        send_email_notifications=True,
        email_password_enabled=True,
        sign_up_enabled=True,
        sign_up_auto_sign_in=True,
        sign_up_notify_existing=True,
        username_enabled=True,
        mail_sender="none",
        mail_retry_for=day,
        reset_sender="none",
        reset_token_expires_in=day,
        reset_revokes_sessions=True,
        verification_enabled=False,
        verification_required=False,
        verification_on_sign_up=False,
        verification_on_sign_in=False,
        verification_token_expires_in=day,
        change_email_enabled=True,
        change_email_immediate_if_unverified=True,
        delete_user_confirm_by_mail=False,
        delete_user_token_expires_in=day,
    )
    return replace(whole, **changes)


@dataclass
class Memory:
    """Sessions and challenges that are live, and every call that got through to a handler."""

    sessions: dict[str, Caller]
    live_challenges: dict[str, str] = field(default_factory=dict)
    looked_up: list[tuple[str, bool]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    headers: tuple[Header, ...] = ()
    """What the sign-out handler puts on its answer."""

    async def find(self, token: str, *, by_cookie: bool) -> Caller | None:
        """Find a session."""
        self.looked_up.append((token, by_cookie))
        found = self.sessions.get(token)
        return None if found is None else replace(found, by_cookie=by_cookie)

    async def __call__(self, call: Call) -> Any:
        """Run the handler with a stand-in for its context."""
        self.calls.append(call)
        return await call.handler(StandIn(call, self.headers), **call.arguments)


@dataclass
class Challenges:
    """Pending sign-ins that are live."""

    live: dict[str, str]

    async def find(self, token: str, *, by_cookie: bool) -> str | None:
        """Find a challenge."""
        return self.live.get(token)


@dataclass
class StandIn:
    """What the small contract's handlers take for their context."""

    call: Call
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
    """Give a signed-in user."""
    session = SessionRow("s1", "u1", None, True, NOW, NOW, NOW, None, None, None, None)
    user = UserRow(
        "u1", name, "ada@app.test", True, None, NOW, NOW, None, None, False, "user", False, None, None
    )
    return Caller(token, session, user, by_cookie=False)


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
    """Give pipelines over the small contract: `make_peer(disabled=…, base_path=…, require_authentication=…)`."""
    opened: list[httpx.AsyncClient] = []

    def make(
        *, contract: Any = None, max_body: int = 65536, disabled: frozenset[str] = frozenset(), **changes: Any
    ) -> Peer:
        memory = Memory({TOKEN: caller()})
        app = build(
            document() if contract is None else contract,
            policy=policy(**changes),
            sessions=memory,
            endpoint=memory,
            challenges=Challenges(memory.live_challenges),
            addresses=Addresses([]),
            disabled=disabled,
            max_body=max_body,
            handlers="tests.server.pipeline.echoes",
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
