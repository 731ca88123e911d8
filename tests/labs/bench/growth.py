"""`python -m tests.labs.bench.growth`: how long statements take in small and in large tables, and while old rows go."""

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from domain import tokens
from domain.context import Caller, Context, RequestFacts
from domain.sessions import listing, sessions
from domain.sessions.policy import SessionLimitThreshold
from models.session import SESSION_BY_DIGEST
from models.sign_in_query import sign_in_row_by
from server.components import cleanup
from server.database import migrations
from server.database.compile import compile_read
from server.observability import logs
from server.services import Services, load_settings, opened
from tests.labs.bench import growth_rows as rows
from tests.labs.bench import growth_steps, machine
from tests.labs.bench.growth_rows import SESSIONS_EACH, Filling
from tests.labs.bench.timing import timed
from tests.postgres import Cluster
from tests.service import environment

FEW, BATCHES, REVOKED, WARM_UP = 250, 10, 100, 2
"""Rows that a clean-up finds, how often it does, sessions that are revoked one by one, and unmeasured requests.

The rows are fewer than a batch, after which a clean-up rests."""
ROUNDS = 5
"""How often as many look-ups as are measured go before them. The first time that a connection touches a page is a page
fault of its process at PostgreSQL, and the connections of a service are old."""
BEFORE_OTHERS = timedelta(days=8)
"""The small clean-ups look at what ended longer ago than that, and leave the rest to the great one."""
RESERVED = 5_000
"""Sessions that are there to go, at most half of all: revoked, or ended for a clean-up."""
MOST_TIMES = 1.5
LONGEST = 100.0
"""The goals: times of the median in the smallest table, and milliseconds of p99 during the great clean-up."""

ALONE = 30.0
"""Seconds of look-ups before the great clean-up, and after it: what the same machine does without."""

FIRST_PAGE = "list-users, first page"
GOALS = {FIRST_PAGE: 2.0, "list-users by role": 2.0, "list-users by email prefix": 2.0, "get-user": 1.2}
"""The goals of some kinds; all others have MOST_TIMES."""
COUNTED = 10_000
"""Users up to which the total of a list is exact, and costs more the more there are."""

AT_ONCE = 32

Sizes = Annotated[str, typer.Option(help="Numbers of sessions, ascending, separated by commas.")]
Asked = Annotated[int, typer.Option(min=20, help="Look-ups of each kind at each size.")]
Databases = Annotated[str, typer.Option(help="postgresql, sqlite, or both, separated by a comma.")]
Ended = Annotated[int, typer.Option(min=0, help="Expired sessions that are removed at the end.")]


def main(
    sizes: Sizes = "10000,1000000,10000000",
    asked: Asked = 2000,
    ended: Ended = 1_000_000,
    databases: Databases = "postgresql",
) -> None:
    """Fill a private database to each size in turn, and measure the rules of the service in this process.

    On SQLite only look-ups are measured.
    """
    wanted = [int(size) for size in sizes.split(",")]
    if wanted != sorted(set(wanted)) or wanted[0] < 20 * SESSIONS_EACH:
        sys.exit(f"--sizes: ascending numbers of at least {20 * SESSIONS_EACH}, such as 10000,1000000")
    if "sqlite" in databases.split(","):
        with tempfile.TemporaryDirectory(prefix="gatewright-growth-") as directory:
            asyncio.run(_measure_sqlite(Path(directory), wanted, asked))
    if "postgresql" not in databases.split(","):
        return
    with _cluster() as cluster, tempfile.TemporaryDirectory(prefix="gatewright-growth-") as directory:
        asyncio.run(_measure(cluster, Path(directory), wanted, asked, ended))


@contextmanager
def _cluster() -> Iterator[Cluster]:
    # A server that is given to the tests may be anywhere: what is measured here must be known.
    os.environ.pop("GATEWRIGHT_TEST_POSTGRES", None)
    # As the plan for many users has it: a quarter of the memory.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cluster = Cluster(None, shared_buffers=f"{memory // 4 // 2**20}MB")
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


async def _measure(cluster: Cluster, directory: Path, sizes: list[int], asked: int, ended: int) -> None:
    logs.configure("error", "json")
    async with AsyncExitStack() as ends:
        probes = []
        for size in sizes:
            place = Place(cluster.create(migrated=True), directory)
            gone = min(ended, size // 2) if size == sizes[-1] else 0
            probe = Probe(*await place.open(ends), gone, size)
            await _fill(probe, gone)
            probes.append(probe)
        await report(probes, place, asked)


async def _measure_sqlite(directory: Path, sizes: list[int], asked: int) -> None:
    logs.configure("error", "json")
    async with AsyncExitStack() as ends:
        probes = []
        for size in sizes:
            path = directory / f"{size}.db"
            services = await Place(f"sqlite:///{path}", directory).serve(ends)
            copy = services.cipher.encrypt(sessions.COPY_PURPOSE, rows.token(0))
            await asyncio.to_thread(Filling(0, size, 0, services.clock(), copy).put_in_sqlite, path)
            probes.append(Probe(services, None, 0, size))
        steps = {**LOOK_UPS, **KEYS, **ADMINISTRATION}
        await compare(probes, steps, asked)
        found = await compare(probes, steps, asked)
        print(f"SQLite\n\n{_table(probes, found)}\n\n{_verdict(probes, found)}\n", flush=True)


async def report(probes: "list[Probe]", largest: "Place", asked: int) -> None:
    """Measure and print everything; the great clean-up comes last, as it changes what is there."""
    last = probes[-1]
    # Whoever waits lets its processor sleep, and to wake it up takes as long as a look-up. Two that share one never do.
    with machine.sharing(os.getpid(), await last.postmaster()):
        new = await compare(probes, LOOK_UPS, asked)
        for _ in range(ROUNDS - 1):
            await compare(probes, LOOK_UPS, asked)
        found = await compare(probes, LOOK_UPS, asked)
        found |= await compare(probes, {**KEYS, **ADMINISTRATION}, asked)
        found |= await compare(probes, REVOCATION, REVOKED)
        found |= await compare(probes, CLEANUP, BATCHES)
    print(_table(probes, found, [await probe.pages() for probe in probes]), end="\n\n")
    print(_verdict(probes, found), end="\n\n")
    print(f"the first {asked} look-ups of new connections:\n\n{_table(probes, new)}\n", flush=True)
    print(f"processor time of one look-up of {AT_ONCE} at once: {await last.cost(asked)}")
    async with AsyncExitStack() as ends:
        services, _ = await largest.open(ends, {"database.pooler": "transaction"})
        cost = await replace(last, services=services).cost(asked)
    print(f"the same with database.pooler = transaction: {cost}")
    for probe in probes:
        await migrations.add_search_indexes(probe.services.database)
    print(_table(probes, await compare(probes, PARTS, asked)), end="\n\n")
    for name, (own, indexes) in (await rows.sizes(last.connection)).items():
        print(f"one row of {name}: {own:.0f} bytes, and {indexes:.0f} bytes in its indexes")
    if last.first:
        print(await last.during_cleanup(), flush=True)


@dataclass(frozen=True, slots=True)
class Place:
    """A database and a folder for the service beside it."""

    url: str
    directory: Path

    async def open(
        self, ends: AsyncExitStack, overrides: dict[str, str] | None = None
    ) -> tuple[Services, Any]:
        """Open the service, without its background, and a connection beside it."""
        services = await self.serve(ends, overrides)
        connection = await rows.connect(self.url)
        ends.push_async_callback(connection.close)
        return services, connection

    async def serve(self, ends: AsyncExitStack, overrides: dict[str, str] | None = None) -> Services:
        """Open the service, without its background."""
        named = environment(self.url, self.directory / "mail.jsonl", overrides or {})
        return await ends.enter_async_context(opened(load_settings(named, self.directory)))


async def compare(probes: "list[Probe]", steps: "Steps", times: int) -> dict[str, list[Figures]]:
    """Ask one after the other, one request each in turn, so that whatever slows the machine down slows all alike."""
    found = {}
    for name, step in steps.items():
        taken: dict[int, list[float]] = {probe.size: [] for probe in probes}
        for number in range(-WARM_UP, times):
            # Who comes first finds the processor's caches cold, so the turns go forth and back.
            for probe in probes[:: 1 if number % 2 else -1]:
                spent = await step(probe)
                if number >= 0:
                    taken[probe.size].append(spent)
        found[name] = [figures(taken[probe.size]) for probe in probes]
    return found


async def _fill(probe: "Probe", ended: int) -> None:
    copy = probe.services.cipher.encrypt(sessions.COPY_PURPOSE, rows.token(0))
    filling = Filling(0, probe.size, ended, probe.services.clock(), copy)
    columns = (TextColumn("{task.description:30}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        await filling.put_in(probe.connection, progress)


@dataclass
class Probe:
    """Asks for what is there, at random. Sessions from `first` to `size` are live; the last ones are there to go."""

    services: Services
    connection: Any
    first: int
    size: int
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    spent: int = 0

    def number(self) -> int:
        """Return the number of a live session that nobody revokes."""
        kept = self.size - min(self.size // 2, RESERVED)
        return self.chance.randrange(self.first, kept)

    async def pages(self) -> int:
        """Return how many pages PostgreSQL touches to find a session and its user, which no neighbour can change."""
        prepared = compile_read(SESSION_BY_DIGEST, PGDialect_asyncpg())
        values = prepared.arguments({"value": tokens.digest(rows.token(self.number()))})
        [[found]] = await self.connection.fetch(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {prepared.sql}", *values
        )
        top = json.loads(found)[0]["Plan"]
        return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])

    async def get_session(self) -> float:
        """Find the session behind a token, and its user; give the seconds it took."""
        with timed() as taken:
            caller = await self.services.sessions.find(
                [rows.token(self.number())], self.services.clock(), by_cookie=False
            )
        assert caller is not None
        return taken[0]

    async def look_up(self) -> float:
        """Find who signs in with an address."""
        query = sign_in_row_by("email", self.services.policy[SessionLimitThreshold].few)
        address = rows.email(self.number() // SESSIONS_EACH)
        with timed() as taken:
            assert await self.services.database.reads.one(query, address)
        return taken[0]

    async def list_sessions(self) -> float:
        """List the sessions of a user, decrypted."""
        caller = await self.caller(self.number())
        with timed() as taken:
            listed = await self.services.unit_of_work.run(
                _listed, RequestFacts(self.services.clock(), caller=caller)
            )
        assert listed
        return taken[0]

    async def revoke(self) -> float:
        """End a session for good: find it, lock its user, delete, record, commit."""
        self.spent += 1
        caller = await self.caller(self.size - self.spent)
        with timed() as taken:
            assert await self.services.unit_of_work.run(
                partial(sessions.revoke, token=caller.token),
                RequestFacts(self.services.clock(), caller=caller),
            )
        return taken[0]

    async def caller(self, number: int) -> Caller:
        """Return the caller with a session."""
        caller = await self.services.sessions.find(
            [rows.token(number)], self.services.clock(), by_cookie=False
        )
        assert caller is not None, number
        return caller

    async def cleanup(self) -> float:
        """End a batch of sessions, and remove it; return the seconds of the removal alone."""
        few = min(FEW, self.size // 40)
        self.spent += few
        ending = range(self.size - self.spent, self.size - self.spent + few)
        digests = [tokens.digest(rows.token(number)) for number in ending]
        await self.connection.execute(
            "UPDATE session SET expires_at = now() - interval '9 days' WHERE token_digest = ANY($1)", digests
        )
        with timed() as taken:
            await cleanup.delete_expired(self.services.database, self.services.clock() - BEFORE_OTHERS)
        return taken[0]

    async def postmaster(self) -> int:
        """Return the process that everything of PostgreSQL descends from."""
        return machine.parent(await self.connection.fetchval("SELECT pg_backend_pid()"))

    async def cost(self, asked: int) -> str:
        """Return what a look-up costs the processors when many come at once; the wall clock does not matter."""
        postmaster = await self.postmaster()

        async def many() -> None:
            for _ in range(asked):
                await self.get_session()

        await many()
        before, own = machine.spent_seconds(postmaster), time.process_time()
        await asyncio.gather(*(many() for _ in range(AT_ONCE)))
        after, own_after = machine.spent_seconds(postmaster), time.process_time()
        each = 1e6 / (AT_ONCE * asked)
        return f"PostgreSQL {(after - before) * each:.0f} µs, this process {(own_after - own) * each:.0f} µs"

    async def during_cleanup(self) -> str:
        """Look sessions up as long as the great clean-up lasts, and just before and after that."""
        alone = await self._meanwhile(asyncio.create_task(asyncio.sleep(ALONE)))
        begun = time.perf_counter()
        sweeping = asyncio.create_task(cleanup.delete_expired(self.services.database, self.services.clock()))
        taken = await self._meanwhile(sweeping)
        removed, seconds = sweeping.result()["session"], time.perf_counter() - begun
        alone += await self._meanwhile(asyncio.create_task(asyncio.sleep(ALONE)))
        is_met = "met" if figures(taken).p99 <= LONGEST else "MISSED"
        return (
            f"get-session while {removed:,} expired sessions are removed ({seconds:.0f} s, {removed / seconds:,.0f} a"
            f" second): {_told(taken)}; goal p99 <= {LONGEST:.0f} ms: {is_met}\n"
            f"get-session in the {ALONE:.0f} s before and the {ALONE:.0f} s after: {_told(alone)}"
        )

    async def _meanwhile(self, task: "asyncio.Task[Any]") -> list[float]:
        """Look sessions up until a task is done; give the seconds of each look-up."""
        taken = []
        while not task.done():
            taken.append(await self.get_session())
        return taken


Steps = Mapping[str, Callable[[Probe], Awaitable[float]]]
LOOK_UPS: Steps = {
    "get-session": Probe.get_session,
    "sign-in look-up": Probe.look_up,
    "list-sessions": Probe.list_sessions,
}
ADMINISTRATION: Steps = {
    FIRST_PAGE: growth_steps.first_page,
    "list-users by role": growth_steps.by_role,
    "list-users by email prefix": growth_steps.by_prefix,
    "get-user": growth_steps.get_user,
}
KEYS: Steps = {"verify a key": growth_steps.verify_key}
PARTS: Steps = {"list-users by a part of an email": growth_steps.by_part}
REVOCATION: Steps = {"revoke-session": Probe.revoke}
CLEANUP: Steps = {f"clean-up of {FEW}": Probe.cleanup}


async def _listed(ctx: Context) -> int:
    """Make the list of the caller's sessions; give how many there are."""
    return len([shown async for shown in listing.list_active(ctx)])


def figures(seconds: list[float]) -> Figures:
    """Return the figures of so many times."""
    ordered = sorted(seconds)
    return Figures(statistics.median(ordered) * 1000, ordered[int(len(ordered) * 0.99)] * 1000)


def _told(seconds: list[float]) -> str:
    found = figures(seconds)
    return (
        f"p50 {found.p50:.2f} ms, p99 {found.p99:.2f} ms, longest {max(seconds) * 1000:.0f} ms,"
        f" {len(seconds):,} look-ups"
    )


def _table(probes: "list[Probe]", found: dict[str, list[Figures]], pages: Sequence[int] = ()) -> str:
    names = [f"{probe.size:,}" for probe in probes]
    lines = [["ms at p50 / p99", *names, f"{names[-1]} : {names[0]}"], ["---"] * (len(names) + 2)]
    for name, each in found.items():
        cells = [f"{one.p50:.2f} / {one.p99:.2f}" for one in each]
        lines.append([name, *cells, f"{each[-1].p50 / each[0].p50:.2f}"])
    if pages:
        lines.append(["pages of a look-up", *map(str, pages), f"{pages[-1] / pages[0]:.2f}"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _verdict(probes: "list[Probe]", found: dict[str, list[Figures]]) -> str:
    """Return for every kind how much it grows, and whether that is little enough."""
    lines = [["p50, times the smallest", "goal", "measured", "met"], ["---"] * 4]
    for name, each in found.items():
        begin = _first_comparable(probes, name)
        times, goal = each[-1].p50 / each[begin].p50, GOALS.get(name, MOST_TIMES)
        compared = f"{name}, {probes[-1].size:,} : {probes[begin].size:,} sessions"
        lines.append([compared, f"≤ {goal}", f"{times:.2f}", "yes" if times <= goal else "**no**"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _first_comparable(probes: "list[Probe]", name: str) -> int:
    """Return the first size that a kind is compared with: a page costs less where all users can be counted."""
    if name != FIRST_PAGE:
        return 0
    large = (number for number, probe in enumerate(probes) if probe.size // SESSIONS_EACH > COUNTED)
    return next(large, len(probes) - 1)


if __name__ == "__main__":
    typer.run(main)
