"""`python -m tests.bench.growth`: how long statements take in small and in large tables, and while old rows go."""

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from domain import secrets, sessions
from domain.context import Caller
from models.queries import PASSWORD_BY_EMAIL, SESSION_BY_DIGEST
from server import cleanup, logs, profiles
from server.reads.plans import plan
from server.services import Services, opened
from tests.bench import growth_rows as rows
from tests.bench import machine
from tests.bench.growth_rows import SESSIONS_EACH, Filling
from tests.postgres import Cluster
from tests.service import environment

ROUNDS = 5
"""How often each statement is measured; the quietest round counts, as neighbours only ever make it slower."""
FEW, BATCHES = 500, 8
"""Rows that a clean-up finds at each size, and how often it does."""
RESERVED = 5_000
"""Sessions that are there to go, at most half of all: revoked, or ended for a clean-up."""
MOST_TIMES = 1.5
LONGEST = 100.0
"""The goals: times of the median in the smallest table, and milliseconds of p99 during the great clean-up."""

AT_ONCE = 32
POOLED = {"database.pooler": "transaction"}

Sizes = Annotated[str, typer.Option(help="Numbers of sessions, ascending, separated by commas.")]
Asked = Annotated[int, typer.Option(min=20, help="Look-ups in one round.")]
Ended = Annotated[int, typer.Option(min=0, help="Expired sessions that are removed at the end.")]


def main(sizes: Sizes = "10000,1000000,10000000", asked: Asked = 1000, ended: Ended = 1_000_000) -> None:
    """Fill a private PostgreSQL to each size in turn, and measure the rules of the service in this process."""
    wanted = [int(size) for size in sizes.split(",")]
    if wanted != sorted(set(wanted)) or wanted[0] < 20 * SESSIONS_EACH:
        sys.exit(f"--sizes: ascending numbers of at least {20 * SESSIONS_EACH}, such as 10000,1000000")
    with _cluster() as cluster, tempfile.TemporaryDirectory(prefix="gatewright-growth-") as directory:
        asyncio.run(_measure(cluster.create(migrated=True), Path(directory), wanted, asked, ended))


@contextmanager
def _cluster() -> Iterator[Cluster]:
    # A server that is given to the tests may be anywhere: what is measured here must be known.
    os.environ.pop("GATEWRIGHT_TEST_POSTGRES", None)
    cluster = Cluster(None)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


@dataclass(frozen=True, slots=True)
class Figures:
    """The median and the 99th percentile of one statement, in milliseconds."""

    p50: float
    p99: float


@dataclass
class Measured:
    """What was found at one size."""

    size: int
    pages: int
    figures: dict[str, Figures] = field(default_factory=dict)


async def _measure(url: str, directory: Path, sizes: list[int], asked: int, ended: int) -> None:
    logs.configure("error", "json")
    settings = profiles.load(environment(url, directory / "mail.jsonl", {}), directory)
    connection = await rows.connect(url)
    found: list[Measured] = []
    async with opened(settings) as services:
        for before, size in zip([0, *sizes], sizes, strict=False):
            gone = ended if size == sizes[-1] else 0
            await _fill(services, connection, before, size, min(gone, (size - before) // 2))
            bytes_of = await rows.sizes(connection)
            probe = Probe(services, before + gone, size, asked)
            found.append(Measured(size, await probe.pages(connection), await probe.all()))
            if gone:
                great = await probe.during_cleanup()
            found[-1].figures["clean-up of 500"] = await probe.cleanup(connection)
        costs = [await probe.cost(connection)]
    pooled = profiles.load(environment(url, directory / "mail.jsonl", POOLED), directory)
    async with opened(pooled) as services:
        costs.append(await replace(probe, services=services).cost(connection))
    print(_table(found), end="\n\n")
    print(_verdict(found), end="\n\n")
    if ended:
        print(great, end="\n\n")
    await connection.close()
    for cost, how in zip(costs, ("", " with database.pooler = transaction"), strict=True):
        print(f"processor time of one look-up of {AT_ONCE} at once{how}: {cost}")
    for name, (own, indexes) in bytes_of.items():
        print(f"one row of {name}: {own:.0f} bytes, and {indexes:.0f} bytes in its indexes")


async def _fill(services: Services, connection: Any, first: int, last: int, ended: int) -> None:
    copy = services.cipher.encrypt(sessions.COPY, rows.token(0))
    filling = Filling(first, last, ended, services.clock(), copy)
    columns = (TextColumn("{task.description:30}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        await filling.put_in(connection, progress)


@dataclass
class Probe:
    """Asks for what is there, at random. Sessions from `first` to `size` are live; the last ones are there to go."""

    services: Services
    first: int
    size: int
    asked: int
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    spent: int = 0

    async def all(self) -> dict[str, Figures]:
        """Measure everything that reads, and what ends single sessions."""
        return {
            "get-session": await self._rounds(self.get_session, self.asked),
            "sign-in look-up": await self._rounds(self.look_up, self.asked),
            "list-sessions": await self._rounds(self.list_sessions, self.asked),
            "revoke-session": await self._rounds(self.revoke, min(80, self.size // 100)),
        }

    async def _rounds(self, step: Callable[[], Awaitable[float]], times: int) -> Figures:
        for _ in range(20):
            await step()
        found = [figures([await step() for _ in range(times)]) for _ in range(ROUNDS)]
        return min(found, key=lambda each: each.p50)

    def _number(self) -> int:
        """Give the number of a live session that nobody revokes."""
        kept = self.size - min(self.size // 2, RESERVED)
        return self.chance.randrange(self.first, kept)

    async def pages(self, connection: Any) -> int:
        """Give how many pages PostgreSQL touches to find a session and its user, which no neighbour can change."""
        prepared = plan(SESSION_BY_DIGEST, PGDialect_asyncpg())  # type: ignore[no-untyped-call]
        values = prepared.arguments(secrets.digest(rows.token(self._number())))
        [[found]] = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {prepared.sql}", *values)
        top = json.loads(found)[0]["Plan"]
        return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])

    async def get_session(self) -> float:
        """Find the session behind a token, and its user; give the seconds it took."""
        with timed() as taken:
            caller = await self.services.requests.find(rows.token(self._number()), by_cookie=False)
        assert caller is not None
        return taken[0]

    async def look_up(self) -> float:
        """Find the password of an address."""
        address = rows.email(self._number() // SESSIONS_EACH)
        with timed() as taken:
            assert await self.services.database.reads.one(PASSWORD_BY_EMAIL, address)
        return taken[0]

    async def list_sessions(self) -> float:
        """List the sessions of a user, decrypted."""
        caller = await self._caller(self._number())
        with timed() as taken:
            listed = await self.services.requests.run(sessions.list_active, caller=caller)
        assert listed
        return taken[0]

    async def revoke(self) -> float:
        """End a session for good: find it, lock its user, delete, record, commit."""
        self.spent += 1
        caller = await self._caller(self.size - self.spent)
        with timed() as taken:
            assert await self.services.requests.run(
                partial(sessions.revoke, token=caller.token), caller=caller
            )
        return taken[0]

    async def _caller(self, number: int) -> Caller:
        caller = await self.services.requests.find(rows.token(number), by_cookie=False)
        assert caller is not None, number
        return caller

    async def cleanup(self, connection: Any) -> Figures:
        """Let a batch of sessions end, and remove it; nothing else is over."""
        taken = []
        few = min(FEW, (self.size // 2 - self.spent) // BATCHES)
        for _ in range(BATCHES):
            self.spent += few
            ending = range(self.size - self.spent, self.size - self.spent + few)
            digests = [secrets.digest(rows.token(number)) for number in ending]
            await connection.execute(
                "UPDATE session SET expires_at = now() - interval '1 minute' WHERE token_digest = ANY($1)",
                digests,
            )
            with timed() as seconds:
                await cleanup.sweep(self.services.database, self.services.clock())
            taken += seconds
        return figures(taken)

    async def cost(self, connection: Any) -> str:
        """Tell what a look-up costs the processors when many come at once; the wall clock does not matter."""
        postmaster = machine.parent(await connection.fetchval("SELECT pg_backend_pid()"))

        async def many() -> None:
            for _ in range(self.asked):
                await self.get_session()

        await many()
        before, own = machine.spent_seconds(postmaster), time.process_time()
        await asyncio.gather(*(many() for _ in range(AT_ONCE)))
        after, own_after = machine.spent_seconds(postmaster), time.process_time()
        each = 1e6 / (AT_ONCE * self.asked)
        return f"PostgreSQL {(after - before) * each:.0f} µs, this process {(own_after - own) * each:.0f} µs"

    async def during_cleanup(self) -> str:
        """Look sessions up as long as the great clean-up lasts."""
        begun = time.perf_counter()
        sweeping = asyncio.create_task(cleanup.sweep(self.services.database, self.services.clock()))
        taken = []
        while not sweeping.done():
            taken.append(await self.get_session())
        removed, seconds = (await sweeping)["session"], time.perf_counter() - begun
        found = figures(taken)
        is_met = "met" if found.p99 <= LONGEST else "MISSED"
        return (
            f"get-session while {removed:,} expired sessions are removed ({seconds:.0f} s, {removed / seconds:,.0f} a"
            f" second): p50 {found.p50:.2f} ms, p99 {found.p99:.2f} ms, longest {max(taken) * 1000:.0f} ms,"
            f" {len(taken):,} look-ups; goal p99 <= {LONGEST:.0f} ms: {is_met}"
        )


@contextmanager
def timed() -> Iterator[list[float]]:
    """Give a list that holds the seconds afterwards."""
    taken: list[float] = []
    begun = time.perf_counter()
    yield taken
    taken.append(time.perf_counter() - begun)


def figures(seconds: list[float]) -> Figures:
    """Give the figures of so many times."""
    ordered = sorted(seconds)
    return Figures(statistics.median(ordered) * 1000, ordered[int(len(ordered) * 0.99)] * 1000)


def _table(found: list[Measured]) -> str:
    names = [f"{each.size:,}" for each in found]
    lines = [["ms at p50 / p99", *names, f"{names[-1]} : {names[0]}"], ["---"] * (len(names) + 2)]
    for name, smallest in found[0].figures.items():
        cells = [f"{each.figures[name].p50:.2f} / {each.figures[name].p99:.2f}" for each in found]
        lines.append([name, *cells, f"{found[-1].figures[name].p50 / smallest.p50:.2f}"])
    lines.append(["pages of a look-up", *(str(each.pages) for each in found), ""])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _verdict(found: list[Measured]) -> str:
    times = found[-1].figures["get-session"].p50 / found[0].figures["get-session"].p50
    is_met = "met" if times <= MOST_TIMES else "MISSED"
    return (
        f"get-session at {found[-1].size:,} sessions takes {times:.2f} times as long as at {found[0].size:,} (p50);"
        f" goal <= {MOST_TIMES}: {is_met}"
    )


if __name__ == "__main__":
    typer.run(main)
