"""`python -m tests.labs.bench.directory`: lists of large directories, new users, and sign-ins next to them.

Each service is a process on one processor; PostgreSQL and the load are on another. Goals are compared with processor
time, that of lists with PostgreSQL's included, so they can be measured while others use the machine. Requests that are
compared take turns.
"""

import asyncio
import http.client
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import typer

from domain import tokens
from domain.scim.directories import PREFIX
from models.organization import Organization
from models.scim_token import ScimToken
from models.sso_connection import ConnectionSource, ConnectionState, ConnectionType, SsoConnection
from models.sso_domain import SsoDomain
from server.database.database import open_database
from tests.labs.bench import growth_rows, machine
from tests.labs.bench.oauth import postmaster
from tests.labs.bench.servers import Server, gatewright, settle
from tests.labs.bench.timing import timed
from tests.labs.bench.webhooks import AS_SHIPPED, CHEAP
from tests.postgres import Cluster
from tests.rows import add
from tests.scim import user
from tests.service import PASSWORD, variables
from tests.sso import JSON

PAGE, MEMBERS = 200, 10_000
"""Users of a list, and users of an organization's directory, in addition to those of the whole service."""
MOST_TIMES, LEAST_A_SECOND = 1.5, 100
"""The goals: what a list costs in the largest database, in costs in the smallest; new users in a second of CPU."""
WARM_UP, BATCH, BATCHES = 3, 200, 5
"""Lists that are not counted, new users between two looks at the clocks, and how often those are made."""
HASHES = {"cheap": (CHEAP, 100), "as shipped": (AS_SHIPPED, 20)}
"""Settings of a kind of hash, and sign-ins of a turn. The goal is for sign-ins as shipped."""
OFF, AGAIN, ON = "off", "off, again", "on"
ADA = {"email": "ada@example.com", "password": PASSWORD}
SSO = {"sso.enabled": "true"}
DIRECTORIES = {
    **SSO,
    "scim.enabled": "true",
    "scim.rate": "0",
    "organizations.enabled": "true",
    "organizations.membership_limit": "100000",
    "database.timeout": "60s",  # The default of 5 s ends lists from a high index.
}
SERVICE, ORGANIZATION = "whole service", "organization"

ROWS = (
    # Foreign keys are right, and not checked.
    "SET session_replication_role = replica",
    """
    INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at, updated_at)
    SELECT md5('{domain}' || i), 'Somebody', 'somebody.' || i || '@{domain}', true, false, 'user', false, now(), now()
    FROM generate_series(1, {size}) AS i
    """,
    """
    INSERT INTO scim_link (id, connection_id, user_id, external_id, active, provisioned, attributes, version,
      created_at, updated_at)
    SELECT md5('link {domain}' || i), d.connection_id, md5('{domain}' || i), i::text, true, true, l.attributes, 1,
      now(), now()
    FROM generate_series(1, {size}) AS i, (SELECT attributes FROM scim_link LIMIT 1) AS l, sso_domain AS d
    WHERE d.domain = '{domain}'
    """,
    """
    INSERT INTO member (id, organization_id, user_id, role, is_owner, created_at, updated_at)
    SELECT md5('member' || i), c.organization_id, md5('{domain}' || i), 'member', false, now(), now()
    FROM generate_series(1, {size}) AS i, sso_connection AS c JOIN sso_domain AS d ON d.connection_id = c.id
    WHERE d.domain = '{domain}' AND c.organization_id IS NOT NULL
    """,
    "VACUUM (ANALYZE)",
)
"""The users of a directory, their entries in it with the attributes of its first user, and members."""

Sizes = Annotated[str, typer.Option(help="Users of the directory of the whole service, ascending.")]
Asked = Annotated[int, typer.Option(min=5, help="Lists of each kind in each database.")]
Turns = Annotated[int, typer.Option(min=5, help="Turns of sign-ins.")]


def main(sizes: Sizes = "10000,1000000", asked: Asked = 20, turns: Turns = 30) -> None:
    """Measure lists and new users on a private PostgreSQL, and sign-ins also on SQLite."""
    os.sched_setaffinity(0, {machine.choose_cores().load})
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-directory-")))
        # The processor time of parallel workers would be lost: they end with their query.
        cluster = Cluster(None, shared_buffers="2GB", max_wal_size="4GB", max_parallel_workers_per_gather="0")
        cluster.start()
        ends.callback(cluster.stop)
        place = Place(folder, asyncio.run(postmaster(cluster.url())))
        machine.place(place.database, machine.choose_cores().load)
        with ExitStack() as servers:
            numbers = [int(size) for size in sizes.split(",")]
            filled = [_filled(servers, place, cluster.create(migrated=True), size) for size in numbers]
            print("\n".join(_lists(filled, asked)), end="\n\n", flush=True)
            print("\n".join(_creations(filled[0])), end="\n\n", flush=True)
        for kind in ("PostgreSQL", "SQLite"):
            urls = {
                name: cluster.create(migrated=True)
                if kind == "PostgreSQL"
                else f"sqlite:///{folder}/{name}.db"
                for name in (OFF, AGAIN, ON)
            }
            print("\n".join(_sign_ins(kind, urls, place, turns)), end="\n\n", flush=True)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for services, and the process id of PostgreSQL."""

    folder: Path
    database: int

    def serve(self, ends: ExitStack, name: str, url: str, settings: Mapping[str, str]) -> Server:
        """Start a service, until the end."""
        server = gatewright(name, url, self.folder, settings=variables(settings))
        server.start(machine.choose_cores().server)
        ends.callback(server.stop)
        return server


class Cost(NamedTuple):
    """Milliseconds: of processor time of the service and of PostgreSQL, and by the wall clock."""

    service: float
    database: float
    wall: float


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory that sends requests."""

    place: Place
    server: Server
    domain: str
    token: str
    size: int

    def list(self, connection: http.client.HTTPConnection, query: Mapping[str, str]) -> None:
        """List users."""
        page = self._send(connection, "GET", f"?{urlencode(query)}")
        assert len(page["Resources"]) == (1 if "filter" in query else PAGE), query

    def create(self, connection: http.client.HTTPConnection, name: str) -> None:
        """Create a user with attributes as directories send them."""
        names = {"displayName": "Ada Lovelace", "name": {"givenName": "Ada", "familyName": "Lovelace"}}
        address = f"{name}@{self.domain}"
        emails = [{"value": address, "type": "work", "primary": True}]
        body = user(address, externalId=name, active=True, title="Engineer", emails=emails, **names)
        self._send(connection, "POST", "", body)

    def cost(self, work: Callable[[], object], number: int = 1) -> Cost:
        """Return what each of so many requests cost."""
        before = self._spent()
        work()
        return Cost._make((now - then) / number for now, then in zip(self._spent(), before, strict=True))

    def _send(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/scim+json"}
        return _send(connection, method, f"/scim/v2/Users{path}", body, headers)

    def _spent(self) -> Cost:
        spent = map(machine.spent_nanoseconds, (self.server.pid, self.place.database))
        return Cost(*(each / 1e6 for each in (*spent, time.perf_counter_ns())))


def _connection(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)


def _send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Any,
    headers: Mapping[str, str] = JSON,
) -> Any:
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status in (200, 201), (path, content)
    return json.loads(content)


Directories = Mapping[str, Directory]
"""The directory of the whole service and that of an organization, by SERVICE and ORGANIZATION."""


def _filled(ends: ExitStack, place: Place, url: str, size: int) -> Directories:
    """Return two directories of a new service."""
    server = place.serve(ends, f"{size} users", url, DIRECTORIES)
    found = {}
    for kind, domain, users in ((SERVICE, "example.com", size), (ORGANIZATION, "example.org", MEMBERS)):
        token = asyncio.run(_connect(url, domain, has_organization=kind == ORGANIZATION))
        found[kind] = Directory(place, server, domain, token, users)
    found[SERVICE].create(_connection(server), "first")
    with timed() as taken:
        asyncio.run(_fill(url, found.values()))
    settle([server])  # By then the connection that filled the database has gone.
    print(f"{size:,} users: filled in {taken[0]:.0f} s", flush=True)
    return found


async def _connect(url: str, domain: str, *, has_organization: bool = False, required: bool = False) -> str:
    """Store a connection with a verified domain, and return a token of its directory."""
    now, id_, secret = datetime.now(UTC), tokens.token(), PREFIX + tokens.token()
    common: dict[str, Any] = {"id": id_, "created_at": now, "updated_at": now}
    connection = SsoConnection(
        provider_id=domain.replace(".", "-"),
        organization_id=id_ if has_organization else None,
        type=ConnectionType.OIDC,
        issuer="https://login.example.com",
        config=b"",
        name="Acme",
        state=ConnectionState.ACTIVE,
        source=ConnectionSource.OPERATION,
        **common,
    )
    claimed = SsoDomain(
        connection_id=id_, domain=domain, required=required, token="x", verified_at=now, **common
    )
    token = ScimToken(connection_id=id_, token=tokens.digest(secret), name="bench", **common)
    organizations = [Organization(name="Acme", slug="acme", **common)] if has_organization else []
    database = await open_database(url, pool_size=3, timeout=60.0)
    try:
        for row in (*organizations, connection, claimed, token):
            await add(database, row)
    finally:
        await database.close()
    return secret


async def _fill(url: str, directories: Any) -> None:
    connection = await growth_rows.connect(url)
    for each in directories:
        for statement in ROWS:
            await connection.execute(statement.format(domain=each.domain, size=each.size))
    await connection.close()


Query = Callable[[Directory], Mapping[str, str]]
LISTS: Mapping[str, Query] = {
    "first page": lambda _: {"count": f"{PAGE}"},
    "middle page by index": lambda of: {"count": f"{PAGE}", "startIndex": f"{of.size // 2}"},
    "first page by cursor": lambda _: {"count": f"{PAGE}", "cursor": ""},
    # The id of an entry, by which lists are ordered, is of hexadecimal digits.
    "middle page by cursor": lambda _: {"count": f"{PAGE}", "cursor": f"8{random.getrandbits(124):031x}"},
    "userName eq": lambda of: {"filter": f'userName eq "somebody.{random.randint(1, of.size)}@{of.domain}"'},
}


def _lists(filled: Sequence[Directories], asked: int) -> Iterator[str]:
    """Yield the table of lists."""
    heads = " | ".join(f"{each[SERVICE].size:,} users" for each in filled)
    yield (
        f"| List, CPU ms of service + PostgreSQL, p50 | {heads} | times | wall clock, ms | times"
        f" | at most {MOST_TIMES} |"
    )
    yield "|---" * (len(filled) + 5) + "|"
    for kind in (SERVICE, ORGANIZATION):
        for name, query in LISTS.items():
            costs = [_median(found) for found in _costs([each[kind] for each in filled], query, asked)]
            cells = " | ".join(f"{cost.service:.1f} + {cost.database:.1f}" for cost in costs)
            walls = " / ".join(f"{cost.wall:.1f}" for cost in costs)
            first, *_, last = costs
            times = (last.service + last.database) / (first.service + first.database)
            yield (
                f"| {kind}: {name} | {cells} | {times:.2f} | {walls} | {last.wall / first.wall:.2f}"
                f" | {_met(times <= MOST_TIMES)} |"
            )


def _costs(directories: Sequence[Directory], query: Query, asked: int) -> list[list[Cost]]:
    """Return what lists cost in each directory. They take turns, back and forth."""
    costs: list[list[Cost]] = [[] for _ in directories]
    pairs = list(zip(directories, costs, strict=True))
    for number in range(-WARM_UP, asked):
        for directory, found in pairs[:: 1 if number % 2 else -1]:
            # The service closes a connection that has been idle for a few seconds.
            cost = directory.cost(partial(directory.list, _connection(directory.server), query(directory)))
            if number >= 0:
                found.append(cost)
    return costs


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost._make(map(statistics.median, zip(*costs, strict=True)))


def _met(is_met: bool) -> str:
    return "yes" if is_met else "**no**"


def _creations(directories: Directories) -> Iterator[str]:
    """Yield the table of new users."""
    yield (
        "| Create users, p50 | CPU ms of service | of PostgreSQL | per second of a processor | by the wall clock"
        f" | at least {LEAST_A_SECOND} |"
    )
    yield "|---" * 6 + "|"
    for kind, directory in directories.items():
        for number in (1, 8):
            batches = [_create(directory, number, f"{number}-{batch}") for batch in range(BATCHES + 1)]
            service, database, wall = _median(batches[1:])
            yield (
                f"| {kind}, connections: {number} | {service:.2f} | {database:.2f} | {1000 / service:,.0f}"
                f" | {1000 / wall:,.0f} | {_met(1000 / service >= LEAST_A_SECOND)} |"
            )


def _create(directory: Directory, connections: int, batch: str) -> Cost:
    """Return what a new user costs."""

    def create(part: int) -> None:
        connection = _connection(directory.server)
        for number in range(BATCH // connections):
            directory.create(connection, f"new.{batch}.{part}.{number}")

    with ThreadPoolExecutor(connections) as pool:
        return directory.cost(lambda: list(pool.map(create, range(connections))), BATCH)


def _sign_ins(kind: str, urls: Mapping[str, str], place: Place, turns: int) -> Iterator[str]:
    """Yield the table of sign-ins, at two services without single sign-on and one with it."""
    yield (
        f"| Sign-in, {kind}, CPU ms of service | {' | '.join(urls)} | on : off (quartiles)"
        " | off, again : off (quartiles) | not slower |"
    )
    yield "|---" * 7 + "|"
    medians: list[Mapping[str, float]] = []
    for hashes, (settings, number) in HASHES.items():
        with ExitStack() as ends:
            servers = {
                name: place.serve(
                    ends, f"{kind} {hashes} {name}", url, {**settings, **(SSO if name == ON else {})}
                )
                for name, url in urls.items()
            }
            if not medians:
                asyncio.run(_connect(urls[ON], "example.net", required=True))
                for each in servers.values():
                    _send(_connection(each), "POST", "/sign-up/email", {"name": "Ada", **ADA})
            taken = _taken(servers, turns, number)
        medians.append({name: statistics.median(found) for name, found in taken.items()})
        on, again = (_quartiles(taken[name], taken[OFF]) for name in (ON, AGAIN))
        cells = " | ".join(f"{median:.2f}" for median in medians[-1].values())
        met = "no goal" if len(medians) == 1 else _met(on[1] <= again[2])
        yield f"| {hashes} hash | {cells} | {_range(on)} | {_range(again)} | {met} |"
    added = medians[0][ON] - medians[0][OFF]
    yield f"\nSingle sign-on adds {added:.3f} ms, {added / medians[1][OFF]:.1%} of a sign-in as shipped."


def _taken(servers: Mapping[str, Server], turns: int, number: int) -> Mapping[str, Sequence[float]]:
    """Return the milliseconds of processor time of a sign-in in each turn."""
    taken: dict[str, list[float]] = {name: [] for name in servers}
    settle(list(servers.values()))
    for turn in range(-1, turns):
        for name in list(servers)[:: 1 if turn % 2 else -1]:
            connection, pid = _connection(servers[name]), servers[name].pid
            before = machine.spent_nanoseconds(pid)
            for _ in range(number):
                _send(connection, "POST", "/sign-in/email", ADA)
            if turn >= 0:
                taken[name].append((machine.spent_nanoseconds(pid) - before) / number / 1e6)
            connection.close()
    return taken


def _quartiles(taken: Sequence[float], of: Sequence[float]) -> Sequence[float]:
    """Return the quartiles of how many times as long something takes as another one in the same turn."""
    return statistics.quantiles((one / other for one, other in zip(taken, of, strict=True)), n=4)


def _range(quartiles: Sequence[float]) -> str:
    low, median, high = quartiles
    return f"{median:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    typer.run(main)
