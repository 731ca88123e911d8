"""`python -m tests.labs.bench.oauth_peers`: tokens of applications beside Ory Hydra and Keycloak, all on PostgreSQL.

All servers are up during the whole run, on one processor, and asked in turns; figures are processor time of the server
alone. A peer that is not given is left out. In an empty folder each, Hydra is built by

    go mod init hydra
    go mod edit -replace \\
        github.com/gobuffalo/pop/v6=github.com/ory/pop/v6@v6.2.1-0.20241121111754-e5dfc0f3344b
    go get -tool github.com/ory/hydra/v2@v2.3.0
    go build -tags sqlite github.com/ory/hydra/v2

and Keycloak, which needs Java 17 or newer, is fetched by

    mvn dependency:copy -Dartifact=org.keycloak:keycloak-quarkus-dist:26.7.3:tar.gz -DoutputDirectory=.
    tar xzf keycloak-quarkus-dist-26.7.3.tar.gz
"""

import asyncio
import base64
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import httpx
import typer
import uvloop

from tests.labs.bench import machine, oauth, turns
from tests.labs.bench.machine import Cores
from tests.labs.bench.servers import Server, bare, gatewright, settle
from tests.labs.bench.turns import Asked
from tests.ports import free_port
from tests.postgres import Cluster

PATIENCE = 600.0
"""Seconds that a peer has to start."""
WARM_UP = 20
"""Turns before those that count: Java compiles what it does often only after some thousand requests."""
FEW = 64
"""Requests in a turn of what takes milliseconds."""
GATEWRIGHT, HYDRA, KEYCLOAK = "Gatewright", "Ory Hydra", "Keycloak"
INTROSPECTION, CREDENTIALS = "introspection", "client_credentials"
GOALS = {(INTROSPECTION, HYDRA): 7.0, (INTROSPECTION, KEYCLOAK): 11.0}
"""How many times faster than a peer an operation is meant to be."""
SECRET = "a secret of the applications that are measured"

Kind = tuple[str, str]
"""The name of an operation, and of its server."""


def main(
    hydra: Annotated[Path | None, typer.Option(help="The program of Ory Hydra.")] = None,
    keycloak: Annotated[Path | None, typer.Option(help="The folder of Keycloak.")] = None,
    number: Annotated[int, typer.Option(min=1, help="Turns.")] = 20,
) -> None:
    """Measure introspection and the token endpoint beside the peers that are given."""
    cores = machine.choose_cores()
    os.sched_setaffinity(0, {cores.load})
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-peers-")))
        cluster = Cluster(None)
        cluster.start()
        ends.callback(cluster.stop)
        asked = {("bare ASGI", "uvicorn"): _bare(directory, cores, ends)}
        asked |= _gatewright(cluster.create(), directory, cores, ends)
        if hydra is not None:
            asked |= _hydra(hydra.resolve(), cluster.create(), directory, cores, ends)
        if keycloak is not None:
            asked |= _keycloak(keycloak.resolve(), cluster.create(), directory, cores, ends)
        machine.place(asyncio.run(oauth.postmaster(cluster.url())), cores.load)
        settle([each.server for each in asked.values()])
        uvloop.run(turns.take(asked, WARM_UP))
        print(_table(asked, uvloop.run(turns.take(asked, number))))


def _table(asked: Mapping[Kind, Asked], taken: Mapping[Kind, Any]) -> str:
    lines = [
        "| Operation | Server | CPU µs | per second of a processor | Gatewright is faster | Goal |",
        "|---" * 6 + "|",
    ]
    for kind in asked:
        operation, server = kind
        median = statistics.median(taken[kind])
        times, goal = "", ""
        if server in (HYDRA, KEYCLOAK):
            faster = turns.share(taken[kind], taken[operation, GATEWRIGHT])
            times = f"{faster:.1f} times"
            if kind in GOALS:
                goal = f"{GOALS[kind]:.0f} times: {'met' if faster >= GOALS[kind] else 'not met'}"
        lines.append(f"| {operation} | {server} | {median:,.0f} | {1e6 / median:,.0f} | {times} | {goal} |")
    return "\n".join(lines)


def _bare(directory: Path, cores: Cores, ends: ExitStack) -> Asked:
    lone = bare(directory)
    _start(lone, cores, ends)
    return Asked(lone, [turns.post("/", "x=y")])


def _gatewright(url: str, directory: Path, cores: Cores, ends: ExitStack) -> dict[Kind, Asked]:
    server = gatewright("postgresql", url, directory, settings=oauth.SETTINGS)
    _start(server, cores, ends)
    asyncio.run(oauth.enter(url))
    return {
        ("get-session", GATEWRIGHT): oauth.session_requests(server),
        (INTROSPECTION, GATEWRIGHT): oauth.introspections(server, oauth.SERVER),
        (CREDENTIALS, GATEWRIGHT): Asked(server, [oauth.ask(grant_type=CREDENTIALS)]),
    }


def _hydra(program: Path, url: str, directory: Path, cores: Cores, ends: ExitStack) -> dict[Kind, Asked]:
    """Return the requests of Hydra: opaque tokens of applications themselves, which need no pages."""
    public, admin = free_port(), free_port()
    issuer = f"http://127.0.0.1:{public}"
    environment = {
        "DSN": f"{url.replace('postgresql:', 'postgres:')}?sslmode=disable&max_conns=10&max_idle_conns=10",
        "SECRETS_SYSTEM": SECRET,
        "SERVE_PUBLIC_HOST": "127.0.0.1",
        "SERVE_PUBLIC_PORT": str(public),
        "SERVE_ADMIN_HOST": "127.0.0.1",
        "SERVE_ADMIN_PORT": str(admin),
        "URLS_SELF_ISSUER": issuer,
        "URLS_LOGIN": f"{issuer}/login",
        "URLS_CONSENT": f"{issuer}/consent",
        "LOG_LEVEL": "error",
        "SQA_OPT_OUT": "true",
        "TTL_ACCESS_TOKEN": "24h",
        "GOMAXPROCS": "1",
    }
    subprocess.run(
        [program, "migrate", "sql", "up", "-e", "--yes"],
        env={**os.environ, **environment}, check=True, capture_output=True,
    )  # fmt: skip
    server = Server(
        HYDRA, [str(program), "serve", "all", "--dev", "--sqa-opt-out"], public, directory / "hydra.log",
        environment=environment, directory=directory, ready="/health/ready", patience=PATIENCE,
    )  # fmt: skip
    _start(server, cores, ends)
    client = httpx.post(
        f"http://127.0.0.1:{admin}/admin/clients",
        json={
            "grant_types": [CREDENTIALS],
            "token_endpoint_auth_method": "client_secret_post",
            "client_secret": SECRET,
        },
        timeout=PATIENCE,
    ).raise_for_status()
    form = {
        "grant_type": CREDENTIALS, "client_id": client.json()["client_id"], "client_secret": SECRET
    }  # fmt: skip
    tokens = [_token(f"{issuer}/oauth2/token", form) for _ in range(oauth.USERS)]
    return {
        (INTROSPECTION, HYDRA): Asked(
            server, [turns.post("/admin/oauth2/introspect", f"token={each}") for each in tokens], port=admin
        ),
        (CREDENTIALS, HYDRA): Asked(server, [turns.post("/oauth2/token", urlencode(form))], turn=FEW),
    }


def _keycloak(home: Path, url: str, directory: Path, cores: Cores, ends: ExitStack) -> dict[Kind, Asked]:
    """Return the requests of Keycloak: signed tokens of users, whose sessions it looks up."""
    port = free_port()
    environment = {
        "KC_BOOTSTRAP_ADMIN_USERNAME": "admin",
        "KC_BOOTSTRAP_ADMIN_PASSWORD": SECRET,
        "JAVA_OPTS_APPEND": "-XX:ActiveProcessorCount=1",
        "KC_DB_URL": f"jdbc:postgresql://{url.rpartition('@')[2]}",
        "KC_DB_USERNAME": "postgres",
        "KC_DB_PASSWORD": "none",
        "KC_DB_POOL_MAX_SIZE": "10",
    }
    program = str(home / "bin" / "kc.sh")
    subprocess.run(
        [program, "build", "--db=postgres", "--cache=local"],
        env={**os.environ, **environment}, check=True, capture_output=True,
    )  # fmt: skip
    server = Server(
        KEYCLOAK,
        [
            program, "start", "--optimized", "--http-enabled=true", f"--hostname=http://127.0.0.1:{port}",
            f"--http-port={port}", "--http-host=127.0.0.1", "--log-level=warn",
        ],
        port, directory / "keycloak.log", environment=environment, directory=directory,
        ready="/realms/master/.well-known/openid-configuration", patience=PATIENCE,
    )  # fmt: skip
    _start(server, cores, ends)
    base = f"http://127.0.0.1:{port}"
    tokens = list(_tokens_of_users(base))
    basic = base64.b64encode(f"bench:{SECRET}".encode()).decode()
    path = "/realms/bench/protocol/openid-connect"
    credentials = {"grant_type": CREDENTIALS, "client_id": "bench", "client_secret": SECRET}
    return {
        (INTROSPECTION, KEYCLOAK): Asked(
            server,
            [
                turns.post(f"{path}/token/introspect", f"token={each}", f"Authorization: Basic {basic}\r\n")
                for each in tokens
            ],
        ),
        (CREDENTIALS, KEYCLOAK): Asked(
            server, [turns.post(f"{path}/token", urlencode(credentials))], turn=FEW
        ),
    }


def _tokens_of_users(base: str) -> Iterator[str]:
    """Enter a realm with a client and users, and sign each of them in."""
    admin = _token(
        f"{base}/realms/master/protocol/openid-connect/token",
        {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": SECRET},
    )
    days = 864000
    audience = {
        "name": "audience",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-audience-mapper",
        "config": {"included.client.audience": "bench", "access.token.claim": "true"},
    }
    headers = {"Authorization": f"Bearer {admin}"}
    with httpx.Client(base_url=f"{base}/admin/realms", headers=headers, timeout=PATIENCE) as client:
        realm = {
            "realm": "bench", "enabled": True, "accessTokenLifespan": days, "ssoSessionMaxLifespan": days,
            "ssoSessionIdleTimeout": days, "sslRequired": "NONE",
        }  # fmt: skip
        client.post("", json=realm).raise_for_status()
        application = {
            "clientId": "bench", "secret": SECRET, "directAccessGrantsEnabled": True,
            "serviceAccountsEnabled": True, "publicClient": False, "protocolMappers": [audience],
        }  # fmt: skip
        client.post("/bench/clients", json=application).raise_for_status()
        for name in oauth.SESSIONS:
            user = {
                "username": name, "email": f"{name}@example.com", "emailVerified": True, "enabled": True,
                "firstName": "Ada", "lastName": "Lovelace",
                "credentials": [{"type": "password", "value": SECRET, "temporary": False}],
            }  # fmt: skip
            client.post("/bench/users", json=user).raise_for_status()
    for name in oauth.SESSIONS:
        form = {
            "grant_type": "password", "client_id": "bench", "client_secret": SECRET, "username": name,
            "password": SECRET, "scope": "openid",
        }  # fmt: skip
        yield _token(f"{base}/realms/bench/protocol/openid-connect/token", form)


def _token(url: str, form: Mapping[str, str]) -> str:
    answer = httpx.post(url, data=form, timeout=PATIENCE).raise_for_status()
    token: str = answer.json()["access_token"]
    return token


def _start(server: Server, cores: Cores, ends: ExitStack) -> None:
    server.start(cores.server)
    ends.callback(server.stop)


if __name__ == "__main__":
    typer.run(main)
