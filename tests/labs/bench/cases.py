"""What is asked of a server: one request each, sent over and over."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx

from tests.labs.bench.accounts import PASSWORD, SESSIONS, sign_up
from tests.labs.bench.crowd import CODE, numbered_address, numbered_token
from tests.labs.bench.servers import VERIFIER, Server

CONSTANT = "constant"
"""The case of the bare ASGI application."""

DURING = "get-session during sign-ins"

READERS = 32
"""Users who read, one after the other: as many as there are connections, so that no answer could serve two of them."""

GET_SESSION = ("get-session (bearer)", "get-session (cookie)")
TOKEN, JWKS = "token (ES256)", "jwks"
BY_KEY = "get-session (API key)"
KEY, NO_KEY, COUNTED, HOT = "verify key", "verify no key", "verify counted keys", "verify one counted key"
USERS = "list-users"
LINK, BY_CODE = "magic-link request", "email-code sign-in"
PAGES = ("sign-in page", "account page")
KEYS = 2_000
"""Keys with counters: more than are verified at the same time, and each often enough."""
SIGNING = ("sign-in", "sign-up")

BESIDE_OWN = {
    JWKS: "ok",
    BY_KEY: GET_SESSION[0],
    KEY: GET_SESSION[0],
    COUNTED: "sign-out",
}
"""Cases that are compared with another one of the same server."""
BESIDE_BARE = (*GET_SESSION, *PAGES)
"""Cases that are compared with the bare application."""

NAMES = (
    *GET_SESSION,
    "list-sessions (5)",
    "revoke-session (unknown)",
    "update-user",
    "sign-out",
    *SIGNING,
    DURING,
    TOKEN,
    JWKS,
    BY_KEY,
    KEY,
    NO_KEY,
    COUNTED,
    HOT,
    USERS,
    LINK,
    BY_CODE,
    *PAGES,
    "ok",
)
"""Every case, in the order of the table; a user is chosen to be left alone by the cases before."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request to one server; with a body it is a POST, in which `{number}` is another number each time.

    `{turn}` in a body counts the requests of a run, from 0.
    """

    name: str
    server: Server
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    presented: Sequence[str] = ()
    """Headers, each with its value, of which every request has the next one; `Body` is the body itself."""
    beside: "Case | None" = None
    """What else is asked of the server meanwhile, over a few connections more."""
    renew: Callable[[int], None] | None = None
    """Create on the server that many of what a request uses up: sessions, each presented as `Bearer` and a number, or
    what a body with `{turn}` names."""

    @property
    def url(self) -> str:
        """The whole address."""
        return self.server.url + self.path

    @property
    def presents_sessions(self) -> bool:
        """Whether each request has a session of its own."""
        return self.renew is not None and "{turn}" not in (self.body or "")

    def try_out(self) -> None:
        """Send the request once, lest refusals be measured. Raises httpx.HTTPStatusError."""
        method = "GET" if self.body is None else "POST"
        headers = {**self.headers, "Content-Type": "application/json"} if self.body else {**self.headers}
        headers |= dict(line.split(": ", 1) for line in self.presented[:1])
        content = headers.pop(
            "Body", self.body and self.body.replace("{number}", "once").replace("{turn}", "0")
        )
        if self.renew is not None:
            self.renew(1)
        if self.presents_sessions:
            headers["Authorization"] = "Bearer " + numbered_token(0)
        httpx.request(
            method, self.url, headers=headers, content=content, timeout=30, trust_env=False
        ).raise_for_status()


def constant(server: Server) -> list[Case]:
    """Return the one case of a server that always answers the same."""
    return [Case(CONSTANT, server, "/ok")]


def operations(server: Server, renew: Callable[[int], None]) -> list[Case]:
    """Sign users up at a server and give all its cases; `renew` gives it sessions that may be ended.

    Who signs in during the measurement is somebody else than who reads: each sign-in adds a session.
    """
    readers = [sign_up(server, f"reader{number}@example.com", sessions=SESSIONS) for number in range(READERS)]
    bearer = [f"Authorization: Bearer {reader.bearer}" for reader in readers]
    cookie = [f"Cookie: {reader.cookie}" for reader in readers]
    origin, busy = _origin(server), _sign_in(server)
    signing_up = {"name": "Ada Lovelace", "email": "new{number}@example.com", "password": PASSWORD}
    return [
        Case("get-session (bearer)", server, "/get-session", presented=bearer),
        Case("get-session (cookie)", server, "/get-session", presented=cookie),
        Case("list-sessions (5)", server, "/list-sessions", presented=cookie),
        Case(
            "revoke-session (unknown)",
            server,
            "/revoke-session",
            origin,
            json.dumps({"token": "x" * 32}),
            cookie,
        ),
        Case("update-user", server, "/update-user", origin, json.dumps({"name": "Ada {number}"}), cookie),
        Case("sign-out", server, "/sign-out", origin, "{}", renew=renew),
        busy,
        Case("sign-up", server, "/sign-up/email", origin, json.dumps(signing_up)),
        Case(DURING, server, "/get-session", presented=bearer, beside=busy),
        Case("ok", server, "/ok"),
    ]


def tokens(server: Server) -> list[Case]:
    """Return the cases of signed tokens, which are ours alone."""
    reader = sign_up(server, "tokens@example.com")
    bearer = {"Authorization": f"Bearer {reader.bearer}"}
    return [Case(TOKEN, server, "/token", bearer), Case(JWKS, server, "/jwks")]


def keys(server: Server) -> list[Case]:
    """Return the cases of API keys and of administration, which are ours alone."""
    admin = sign_up(server, "keys@example.com")
    server.promote(admin.email)
    as_admin = {"Authorization": f"Bearer {admin.bearer}"}
    verifier = {"Authorization": f"Bearer {VERIFIER}"}
    counted = {"remaining": 2**53 - 1}
    with httpx.Client(base_url=server.url, headers=as_admin, trust_env=False, timeout=30) as client:

        def key(**body: object) -> str:
            made = client.post("/api-key/create", json=body).raise_for_status().json()["key"]
            return str(made)

        plain = [key() for _ in range(READERS)]
        distinct = [_body(key(**counted)) for _ in range(KEYS)]
    path = "/api-key/verify"
    return [
        Case(BY_KEY, server, "/get-session", presented=[f"x-api-key: {each}" for each in plain]),
        Case(KEY, server, path, verifier, "{}", [_body(each) for each in plain]),
        Case(NO_KEY, server, path, verifier, json.dumps({"key": "x" * 64})),
        Case(COUNTED, server, path, verifier, "{}", distinct),
        Case(HOT, server, path, verifier, "{}", distinct[:1]),
        Case(USERS, server, "/admin/list-users", as_admin),
    ]


def _body(key: str) -> str:
    return "Body: " + json.dumps({"key": key})


def pages(server: Server) -> list[Case]:
    """Return the cases of hosted pages, which are ours alone; the account page is that of 32 users in turn."""
    readers = [sign_up(server, f"page{number}@example.com") for number in range(READERS)]
    return [
        Case(PAGES[0], server, "/account/sign-in"),
        Case(PAGES[1], server, "/account", presented=[f"Cookie: {reader.cookie}" for reader in readers]),
    ]


def links(server: Server) -> list[Case]:
    """Return the request for a link, each for another address that nobody has."""
    return [
        Case(LINK, server, "/sign-in/magic-link", _origin(server), '{"email": "link{number}@example.com"}')
    ]


def codes(server: Server, renew: Callable[[int], None]) -> list[Case]:
    """Return the sign-in by a mailed code; `renew` gives the server users with codes."""
    body = json.dumps({"email": numbered_address("{turn}"), "otp": CODE})
    return [Case(BY_CODE, server, "/sign-in/email-otp", _origin(server), body, renew=renew)]


def signing_in(server: Server) -> list[Case]:
    """Return the sign-in alone, for a server that is measured for how it grows."""
    return [_sign_in(server)]


def _sign_in(server: Server) -> Case:
    visitor = sign_up(server, "visitor@example.com")
    body = json.dumps({"email": visitor.email, "password": PASSWORD})
    return Case("sign-in", server, "/sign-in/email", _origin(server), body)


def _origin(server: Server) -> Mapping[str, str]:
    return {"Origin": f"http://127.0.0.1:{server.port}"}
