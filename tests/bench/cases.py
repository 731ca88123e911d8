"""What is asked of a server: one request each, sent over and over."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx

from tests.bench.accounts import PASSWORD, SESSIONS, sign_up
from tests.bench.crowd import numbered_token
from tests.bench.servers import Server

CONSTANT = "constant"
"""The case of the bare ASGI application."""

DURING = "get-session during sign-ins"

NAMES = (
    "get-session (bearer)",
    "get-session (cookie)",
    "list-sessions (5)",
    "revoke-session (unknown)",
    "update-user",
    "sign-out",
    "sign-in",
    "sign-up",
    DURING,
    "ok",
)
"""Every case, in the order of the table; a user is chosen to be left alone by the cases before."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request to one server; with a body it is a POST, in which `{number}` is another number each time."""

    name: str
    server: Server
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    beside: "Case | None" = None
    """What else is asked of the server meanwhile, over a few connections more."""
    renew: Callable[[int], None] | None = None
    """Gives the server that many new sessions. Each request then presents one of its own, as `Bearer` and a number."""

    @property
    def url(self) -> str:
        """The whole address."""
        return self.server.url + self.path

    def try_out(self) -> None:
        """Send the request once, lest refusals be measured. Raises httpx.HTTPStatusError."""
        method = "GET" if self.body is None else "POST"
        headers = {**self.headers, "Content-Type": "application/json"} if self.body else {**self.headers}
        if self.renew is not None:
            self.renew(1)
            headers["Authorization"] = "Bearer " + numbered_token(0)
        content = self.body and self.body.replace("{number}", "once")
        httpx.request(
            method, self.url, headers=headers, content=content, timeout=30, trust_env=False
        ).raise_for_status()


def constant(server: Server) -> list[Case]:
    """Give the one case of a server that always answers the same."""
    return [Case(CONSTANT, server, "/ok")]


def operations(server: Server, renew: Callable[[int], None]) -> list[Case]:
    """Sign users up at a server and give all its cases; `renew` gives it sessions that may be ended.

    Who signs in during the measurement is somebody else than who reads: each sign-in adds a session.
    """
    reader = sign_up(server, "reader@example.com", sessions=SESSIONS)
    visitor = sign_up(server, "visitor@example.com")
    bearer, cookie = {"Authorization": f"Bearer {reader.bearer}"}, {"Cookie": reader.cookie}
    origin = {"Origin": f"http://127.0.0.1:{server.port}"}
    signing_in = {"email": visitor.email, "password": PASSWORD}
    signing_up = {"name": "Ada Lovelace", "email": "new{number}@example.com", "password": PASSWORD}
    busy = Case("sign-in", server, "/sign-in/email", origin, json.dumps(signing_in))
    requests: tuple[tuple[str, Mapping[str, str], str | None], ...] = (
        ("/get-session", bearer, None),
        ("/get-session", cookie, None),
        ("/list-sessions", cookie, None),
        ("/revoke-session", cookie | origin, json.dumps({"token": "x" * 32})),
        ("/update-user", cookie | origin, json.dumps({"name": "Ada {number}"})),
        ("/sign-out", origin, "{}"),
        ("/sign-in/email", origin, json.dumps(signing_in)),
        ("/sign-up/email", origin, json.dumps(signing_up)),
        ("/get-session", bearer, None),
        ("/ok", {}, None),
    )
    return [
        Case(
            name,
            server,
            *request,
            beside=busy if name == DURING else None,
            renew=renew if name == "sign-out" else None,
        )
        for name, request in zip(NAMES, requests, strict=True)
    ]


def signing_in(server: Server, renew: Callable[[int], None]) -> list[Case]:
    """Give the sign-in alone, for a server that is measured for how it grows."""
    return [case for case in operations(server, renew) if case.name == "sign-in"]
