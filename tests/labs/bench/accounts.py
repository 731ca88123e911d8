"""The users that are measured: made through the servers' own operations, the same way on each."""

from dataclasses import dataclass

import httpx

from tests.labs.bench.servers import Server

PASSWORD = "correct horse battery"
SESSIONS = 5
"""Sessions of the user who reads, so that a list has something in it."""


@dataclass(frozen=True, slots=True)
class Account:
    """A signed-in user: how one of the sessions is presented, and the address to sign in with."""

    email: str
    bearer: str
    cookie: str


def sign_up(server: Server, email: str, *, sessions: int = 1) -> Account:
    """Make a user with some sessions. Raises httpx.HTTPStatusError."""
    origin = f"http://127.0.0.1:{server.port}"
    with httpx.Client(base_url=server.url, headers={"Origin": origin}, trust_env=False) as client:
        answer = _post(
            client, "/sign-up/email", {"name": "Ada Lovelace", "email": email, "password": PASSWORD}
        )
        for _ in range(sessions - 1):
            answer = _post(client, "/sign-in/email", {"email": email, "password": PASSWORD})
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return Account(email, answer.headers["set-auth-token"], cookie)


def _post(client: httpx.Client, path: str, body: dict[str, str]) -> httpx.Response:
    client.cookies.clear()
    return client.post(path, json=body, timeout=30).raise_for_status()
