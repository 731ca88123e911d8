"""`python -m tests.labs.bench.oauth`: what tokens cost, beside the bare application and a look-up of a session.

Each server is a process on one processor; the load and PostgreSQL are on another. Figures are processor time of the
server alone: requests per second of a processor, and as a share of what the bare application answers.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import asyncpg
import orjson
import typer
from sqlalchemy import text

from domain import tokens
from domain.oauth.authorization_code import CODE_PREFIX, challenge_of
from domain.oauth.tokens import ACCESS_PREFIX, REFRESH_PREFIX
from models.oauth_client import OauthClient
from models.oauth_code import OauthCode
from models.oauth_grant import OauthGrant
from models.oauth_token import OauthToken, TokenKind
from server.database.database import Database, open_database
from tests.labs.bench import machine
from tests.labs.bench.servers import Server, bare, gatewright, settle
from tests.postgres import Cluster
from tests.rows import add, insert_many, session, user

CONNECTIONS = 32
WARM_UP = 200
CLIENT, SECRET, SESSION = "app_" + "b" * 24, "gws_" + "b" * 32, "b" * 32
SERVER, ACCESS = "app_" + "s" * 24, ACCESS_PREFIX + "b" * 32
VERIFIER = "v" * 43
RESOURCE = "https://files.example"
SCOPES = "openid offline_access"
SETTINGS = {
    "GATEWRIGHT_JWT__ENABLED": "true",
    "GATEWRIGHT_JWT__ALGORITHMS": "RS256,ES256",
    "GATEWRIGHT_OAUTH__ENABLED": "true",
    "GATEWRIGHT_OAUTH__SCOPES": '{"read": "Read"}',
    "GATEWRIGHT_OAUTH__CODE_EXPIRES_IN": "10m",
}
GOALS = {"client_credentials": 1000, "refresh_token": 1000, "code with RS256": 500}
"""Requests per second of a processor, on PostgreSQL."""

Number = Annotated[int, typer.Option(min=500, help="Requests of each kind.")]
Databases = Annotated[str, typer.Option(help="Kinds of databases, separated by commas.")]


def main(number: Number = 2000, databases: Databases = "sqlite,postgresql") -> None:
    """Measure the token endpoint and introspection."""
    cores = machine.choose_cores()
    os.sched_setaffinity(0, {cores.load})
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-oauth-")))
        lone = bare(directory)
        lone.start(cores.server)
        ends.callback(lone.stop)
        most = _rate(lone, [_post(lone, "/", "x=y")] * number)
        for name in databases.split(","):
            url = f"sqlite:///{directory}/tokens.db"
            if name == "postgresql":
                cluster = Cluster(None)
                cluster.start()
                ends.callback(cluster.stop)
                url = cluster.create()
                machine.place(asyncio.run(_postmaster(url)), cores.load)
            server = gatewright(name, url, directory, settings=SETTINGS)
            server.start(cores.server)
            ends.callback(server.stop)
            print(_table(name, server, url, number, most), flush=True)


def _table(name: str, server: Server, url: str, number: int, most: float) -> str:
    lines = [f"| {name} | per second of a processor | of bare ASGI | goal |", "|---" * 4 + "|"]
    for kind, requests in _requests(server, url, number):
        settle([server])
        rate = _rate(server, requests)
        goal = GOALS.get(kind) if name == "postgresql" else None
        met = "" if goal is None else f"at least {goal:,}: {'met' if rate >= goal else 'not met'}"
        lines.append(f"| {kind} | {rate:,.0f} | {rate / most:.1%} | {met} |")
    return "\n".join(lines) + "\n"


def _requests(server: Server, url: str, number: int) -> Iterator[tuple[str, Sequence[bytes]]]:
    asyncio.run(_enter(url))
    head = f"GET /get-session HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {SESSION}\r\n\r\n"
    yield "get-session", [head.encode()] * number
    asyncio.run(_access_token(url))
    for asking in (CLIENT, SERVER):
        form = {"client_id": asking, "client_secret": SECRET, "token": ACCESS}
        kind = "introspection" if asking == CLIENT else "introspection by the server of a resource"
        yield kind, [_post(server, "/oauth2/introspect", urlencode(form))] * number
    yield "client_credentials", [_ask(server, grant_type="client_credentials")] * number
    refresh = asyncio.run(_refresh_tokens(url, number))
    yield "refresh_token", [_ask(server, grant_type="refresh_token", refresh_token=each) for each in refresh]
    for algorithm in ("ES256", "RS256"):
        asyncio.run(_sign_by(url, algorithm))
        codes = asyncio.run(_codes(url, number))
        yield (
            f"code with {algorithm}",
            [
                _ask(server, grant_type="authorization_code", code=each, code_verifier=VERIFIER)
                for each in codes
            ],
        )


def _ask(server: Server, **form: str) -> bytes:
    return _post(server, "/oauth2/token", urlencode({"client_id": CLIENT, "client_secret": SECRET, **form}))


def _post(server: Server, path: str, body: str) -> bytes:
    return (
        f"POST {server.base_path}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}"
    ).encode()


def _rate(server: Server, requests: Sequence[bytes]) -> float:
    """Return how many requests a second of the server's processor answers, after a warm-up."""
    asyncio.run(_send(server, requests[:WARM_UP]))
    before = machine.spent_seconds(server.pid)
    asyncio.run(_send(server, requests[WARM_UP:]))
    return (len(requests) - WARM_UP) / (machine.spent_seconds(server.pid) - before)


async def _send(server: Server, requests: Sequence[bytes]) -> None:
    """Send requests over a few connections, each one after the other. Raises AssertionError for an error."""
    waiting = iter(requests)

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for request in waiting:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            body = await reader.readexactly(length)
            assert b" 200 " in head.split(b"\r\n", 1)[0], (head, body)
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    database = await open_database(url, pool_size=4, timeout=60.0)
    try:
        yield database
    finally:
        await database.close()


async def _enter(url: str) -> None:
    """Store the client, the server of a resource, and a user with a session."""
    now = datetime.now(UTC)
    times: dict[str, Any] = {"created_at": now, "updated_at": now}
    registration = {
        "client_name": "Bench",
        "token_endpoint_auth_method": "client_secret_post",
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "scope": SCOPES,
        "resources": [],
        "client_credentials_scopes": ["read"],
        "id_token_signed_response_alg": "ES256",
        "resource_server": [],
    }

    def client(client_id: str, **members: Any) -> OauthClient:
        return OauthClient(
            client_id=client_id,
            client_name="Bench",
            secret=tokens.digest(SECRET),
            registration=orjson.dumps({**registration, **members}).decode(),
            source="cli",
            **times,
        )

    clients = [client(CLIENT), client(SERVER, resource_server=[RESOURCE])]
    reader = user("reader", id="u" * 32, **times)
    opened = session(reader, SESSION, id="s" * 32, expires_at=now + timedelta(days=7), **times)
    async with _opened(url) as database:
        await add(database, *clients, reader, opened)


async def _access_token(url: str) -> None:
    """Store the access token of an online grant of the user, for the resource."""
    now = datetime.now(UTC)
    times: dict[str, Any] = {"created_at": now, "updated_at": now}
    grant = OauthGrant(
        id="g" * 32, client_id=CLIENT, user_id="u" * 32, session_id="s" * 32, sid="s" * 43, scopes=SCOPES,
        resources=RESOURCE, auth_time=now, amr="pwd", expires_at=now + timedelta(days=30), **times,
    )  # fmt: skip
    token = OauthToken(
        token=tokens.digest(ACCESS), kind=TokenKind.ACCESS, client_id=CLIENT, grant_id=grant.id, scopes=SCOPES,
        resource=RESOURCE, expires_at=now + timedelta(hours=1), kept_until=now + timedelta(hours=1), **times,
    )  # fmt: skip
    async with _opened(url) as database:
        await add(database, grant, token)


async def _sign_by(url: str, algorithm: str) -> None:
    async with _opened(url) as database, database.transaction() as db:
        await db.execute(
            text("UPDATE oauth_client SET registration = REPLACE(registration, 'ES256', :algorithm)"),
            algorithm=algorithm,
        )


async def _refresh_tokens(url: str, number: int) -> Sequence[str]:
    """Store grants, each with a refresh token; return the tokens."""
    now = datetime.now(UTC)
    ends_at = now + timedelta(days=30)
    times = {"created_at": now, "updated_at": now}
    made = [(tokens.token(), REFRESH_PREFIX + tokens.token()) for _ in range(number)]
    grants = [
        {
            "id": grant, "client_id": CLIENT, "user_id": "u" * 32, "session_id": "s" * 32, "sid": "s" * 43,
            "offline": True, "scopes": SCOPES, "resources": "", "auth_time": now, "amr": "pwd",
            "expires_at": ends_at, **times,
        }
        for grant, _ in made
    ]  # fmt: skip
    refresh = [
        {
            "token": tokens.digest(token), "kind": TokenKind.REFRESH, "client_id": CLIENT, "grant_id": grant,
            "scopes": SCOPES, "expires_at": ends_at, "kept_until": ends_at, **times,
        }
        for grant, token in made
    ]  # fmt: skip
    async with _opened(url) as database, database.transaction() as db:
        await insert_many(db, OauthGrant, grants)
        await insert_many(db, OauthToken, refresh)
    return [token for _, token in made]


async def _codes(url: str, number: int) -> Sequence[str]:
    """Store codes of the user, and return them."""
    now = datetime.now(UTC)
    codes = [CODE_PREFIX + tokens.token() for _ in range(number)]
    rows = [
        {
            "code": tokens.digest(code), "client_id": CLIENT, "user_id": "u" * 32, "session_id": "s" * 32,
            "redirect_uri": "https://shop.example/callback", "code_challenge": challenge_of(VERIFIER),
            "scopes": SCOPES, "resources": "", "expires_at": now + timedelta(minutes=10),
            "created_at": now, "updated_at": now,
        }
        for code in codes
    ]  # fmt: skip
    async with _opened(url) as database, database.transaction() as db:
        await insert_many(db, OauthCode, rows)
    return codes


async def _postmaster(url: str) -> int:
    """Return the process that all the work of a PostgreSQL server descends from."""
    connection = await asyncpg.connect(url)
    try:
        return machine.parent(await connection.fetchval("SELECT pg_backend_pid()"))
    finally:
        await connection.close()


if __name__ == "__main__":
    typer.run(main)
