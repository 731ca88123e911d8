"""`python -m tests.labs.bench.oauth`: what tokens cost, beside the bare application and a look-up of a session.

Each server is a process on one processor; the load and PostgreSQL are on another. Figures are processor time of the
server alone: requests per second of a processor, and as a share of what the bare application answers. What changes
nothing is asked in many short turns, one kind after the other, so that a slow minute of the machine hits all alike; the
table has the medians of the turns, and the shares are medians of the shares in one turn.
"""

import asyncio
import base64
import os
import statistics
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import asyncpg
import orjson
import typer
import uvloop
from sqlalchemy import text

from domain import tokens
from domain.oauth.authorization_code import CODE_PREFIX, challenge_of
from domain.oauth.tokens import ACCESS_PREFIX, REFRESH_PREFIX
from models.oauth_client import OauthClient
from models.oauth_code import OauthCode
from models.oauth_grant import OauthGrant
from models.oauth_token import OauthToken, TokenKind
from server.database.database import Database, open_database
from tests.labs.bench import machine, turns
from tests.labs.bench.servers import Server, bare, gatewright, settle
from tests.labs.bench.turns import TURN, Asked
from tests.postgres import Cluster
from tests.rows import add, insert_many, session, user

WARM_UP = 200
USERS = 32
"""Whose sessions and tokens are asked for, one after the other."""
CLIENT, SERVER, SECRET = "app_" + "b" * 24, "app_" + "s" * 24, "gws_" + "b" * 32
VERIFIER = "v" * 43
RESOURCE = "https://files.example"
SCOPES = "openid offline_access"
SESSIONS = [f"{number:032}" for number in range(USERS)]
ACCESS_TOKENS = [ACCESS_PREFIX + each for each in SESSIONS]
SETTINGS = {
    "GATEWRIGHT_JWT__ENABLED": "true",
    "GATEWRIGHT_JWT__ALGORITHMS": "RS256,ES256",
    "GATEWRIGHT_OAUTH__ENABLED": "true",
    "GATEWRIGHT_OAUTH__SCOPES": '{"read": "Read"}',
    "GATEWRIGHT_OAUTH__CODE_EXPIRES_IN": "10m",
}
GOALS = {"client_credentials": 1000, "refresh_token": 1000, "code with RS256": 500}
"""Requests per second of a processor, on PostgreSQL."""
OF_GET_SESSION = 0.8
"""The share that an introspection is meant to reach of get-session, on both databases."""
BARE, GET_SESSION = "bare ASGI", "get-session"

Number = Annotated[int, typer.Option(min=640, help="Requests of each kind.")]
Databases = Annotated[str, typer.Option(help="Kinds of databases, separated by commas.")]


def main(number: Number = 6400, databases: Databases = "sqlite,postgresql") -> None:
    """Measure the token endpoint and introspection."""
    cores = machine.choose_cores()
    os.sched_setaffinity(0, {cores.load})
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-oauth-")))
        lone = bare(directory)
        lone.start(cores.server)
        ends.callback(lone.stop)
        for name in databases.split(","):
            url = f"sqlite:///{directory}/tokens.db"
            if name == "postgresql":
                cluster = Cluster(None)
                cluster.start()
                ends.callback(cluster.stop)
                url = cluster.create()
                machine.place(asyncio.run(postmaster(url)), cores.load)
            server = gatewright(name, url, directory, settings=SETTINGS)
            server.start(cores.server)
            ends.callback(server.stop)
            asyncio.run(enter(url))
            print(_reads(name, server, lone, number), flush=True)
            print(_tokens(name, server, lone, url, number), flush=True)


def _reads(name: str, server: Server, lone: Server, number: int) -> str:
    """Return the table of what changes nothing."""
    asked = _asked(server, lone)
    settle([server])
    taken_by_kind = uvloop.run(turns.take(asked, number // TURN))
    lines = [f"| {name} | CPU µs | of bare ASGI | of get-session | goal |", "|---" * 5 + "|"]
    for kind, taken in taken_by_kind.items():
        of_bare, of_session = (turns.share(taken_by_kind[other], taken) for other in (BARE, GET_SESSION))
        is_goal = kind.startswith("introspection")
        met = f"at least {OF_GET_SESSION:.0%}: {_met(of_session >= OF_GET_SESSION)}" if is_goal else ""
        lines.append(
            f"| {kind} | {statistics.median(taken):.1f} | {of_bare:.1%} | {of_session:.1%} | {met} |"
        )
    return "\n".join(lines) + "\n"


def _met(is_met: bool) -> str:
    return "met" if is_met else "not met"


def _asked(server: Server, lone: Server) -> Mapping[str, Asked]:
    """Return the requests that change nothing, by their kind: one for each user."""
    return {
        BARE: Asked(lone, [turns.post("/", "x=y")]),
        GET_SESSION: session_requests(server),
        "introspection by its client": introspections(server, CLIENT),
        "introspection by its client, secret in the form": introspections(server, CLIENT, in_form=True),
        "introspection by the server of its resource": introspections(server, SERVER),
        "introspection by the server of its resource, secret in the form": introspections(
            server, SERVER, in_form=True
        ),
    }


def session_requests(server: Server) -> Asked:
    """Return a request for the session of each user."""
    return Asked(
        server, [turns.get("/get-session", f"Authorization: Bearer {each}\r\n") for each in SESSIONS]
    )


def introspections(server: Server, client: str, *, in_form: bool = False) -> Asked:
    """Return a client's introspection of the access token of each user."""
    basic = base64.b64encode(f"{client}:{SECRET}".encode()).decode()
    header = "" if in_form else f"Authorization: Basic {basic}\r\n"
    secret = {"client_id": client, "client_secret": SECRET} if in_form else {}
    forms = [urlencode({**secret, "token": each}) for each in ACCESS_TOKENS]
    return Asked(server, [turns.post("/oauth2/introspect", form, header) for form in forms])


def _tokens(name: str, server: Server, lone: Server, url: str, number: int) -> str:
    """Return the table of what issues tokens."""
    lines = [
        f"| {name} | CPU µs | per second of a processor | of bare ASGI | goal |", "|---" * 5 + "|"
    ]  # fmt: skip
    for kind, requests in _requests(url, number):
        settle([server])
        least, took = uvloop.run(_issue(server, lone, requests))
        goal = GOALS.get(kind) if name == "postgresql" else None
        met = "" if goal is None else f"at least {goal:,}: {_met(1e6 / took >= goal)}"
        lines.append(f"| {kind} | {took:.0f} | {1e6 / took:,.0f} | {least / took:.1%} | {met} |")
    return "\n".join(lines) + "\n"


async def _issue(server: Server, lone: Server, requests: Sequence[bytes]) -> tuple[float, float]:
    """Return the microseconds of the bare application and of the server for a request, asked in turns."""
    constant = [turns.post("/", "x=y")] * TURN
    least, taken = [], []
    async with turns.connected(server.port) as load, turns.connected(lone.port) as beside:
        await turns.cost(server, load, requests[:WARM_UP])
        for start in range(WARM_UP, len(requests) - TURN + 1, TURN):
            least.append(await turns.cost(lone, beside, constant))
            taken.append(await turns.cost(server, load, requests[start : start + TURN]))
    return statistics.median(least), statistics.median(taken)


def _requests(url: str, number: int) -> Iterator[tuple[str, Sequence[bytes]]]:
    yield "client_credentials", [ask(grant_type="client_credentials")] * number
    refresh = asyncio.run(_refresh_tokens(url, number))
    yield "refresh_token", [ask(grant_type="refresh_token", refresh_token=each) for each in refresh]
    for algorithm in ("ES256", "RS256"):
        asyncio.run(_sign_by(url, algorithm))
        codes = asyncio.run(_codes(url, number))
        yield (
            f"code with {algorithm}",
            [ask(grant_type="authorization_code", code=each, code_verifier=VERIFIER) for each in codes],
        )


def ask(**form: str) -> bytes:
    """Return a request of the client to the token endpoint."""
    return turns.post("/oauth2/token", urlencode({"client_id": CLIENT, "client_secret": SECRET, **form}))


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    database = await open_database(url, pool_size=4, timeout=60.0)
    try:
        yield database
    finally:
        await database.close()


async def enter(url: str) -> None:
    """Store the client, the server of a resource, and users, each with a session and an access token for it."""
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
    users = [user(f"reader{each}", id=each, **times) for each in SESSIONS]
    sessions = [
        session(reader, each, id=each, expires_at=now + timedelta(days=7), **times)
        for reader, each in zip(users, SESSIONS, strict=True)
    ]
    async with _opened(url) as database:
        await add(database, *clients, *users)
        await add(database, *sessions)
        await add(database, *(_grant(each, now) for each in SESSIONS))
        await add(database, *(_access_token(each, now) for each in SESSIONS))


def _grant(user_id: str, now: datetime) -> OauthGrant:
    """Return an online grant of a user."""
    return OauthGrant(
        id=user_id, client_id=CLIENT, user_id=user_id, session_id=user_id, sid="s" * 43, scopes=SCOPES,
        resources=RESOURCE, auth_time=now, amr="pwd", expires_at=now + timedelta(days=30), created_at=now,
        updated_at=now,
    )  # fmt: skip


def _access_token(grant_id: str, now: datetime) -> OauthToken:
    """Return an access token for the resource."""
    ends_at = now + timedelta(hours=1)
    return OauthToken(
        token=tokens.digest(ACCESS_PREFIX + grant_id), kind=TokenKind.ACCESS, client_id=CLIENT, grant_id=grant_id,
        scopes=SCOPES, resource=RESOURCE, expires_at=ends_at, kept_until=ends_at, created_at=now, updated_at=now,
    )  # fmt: skip


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
            "id": grant, "client_id": CLIENT, "user_id": SESSIONS[0], "session_id": SESSIONS[0], "sid": "s" * 43,
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
            "code": tokens.digest(code), "client_id": CLIENT, "user_id": SESSIONS[0], "session_id": SESSIONS[0],
            "redirect_uri": "https://shop.example/callback", "code_challenge": challenge_of(VERIFIER),
            "scopes": SCOPES, "resources": "", "expires_at": now + timedelta(minutes=10),
            "created_at": now, "updated_at": now,
        }
        for code in codes
    ]  # fmt: skip
    async with _opened(url) as database, database.transaction() as db:
        await insert_many(db, OauthCode, rows)
    return codes


async def postmaster(url: str) -> int:
    """Return the process that all the work of a PostgreSQL server descends from."""
    connection = await asyncpg.connect(url)
    try:
        return machine.parent(await connection.fetchval("SELECT pg_backend_pid()"))
    finally:
        await connection.close()


if __name__ == "__main__":
    typer.run(main)
