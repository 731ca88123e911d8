"""`python -m tests.labs.bench`: start everything, measure, print, and stop what was started."""

import asyncio
import os
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import asyncpg
import typer

from tests.labs.bench import better_auth, goals, load, machine, table
from tests.labs.bench.better_auth import PeerAbsent
from tests.labs.bench.cases import NAMES
from tests.labs.bench.contest import Contest
from tests.labs.bench.measuring import Rounds
from tests.labs.bench.servers import ServerFailed
from tests.postgres import Cluster

ALL_CASES = ",".join(NAMES)

Seconds = Annotated[float, typer.Option(min=1, help="Length of one run.")]
Repeats = Annotated[int, typer.Option(min=1, help="Runs of each case; the median counts.")]
Cases = Annotated[str, typer.Option(help="Beginnings of the cases' names, separated by commas.")]
Databases = Annotated[str, typer.Option(help="Kinds of databases, separated by commas.")]
Peer = Annotated[bool, typer.Option(help="Whether to measure Better Auth too, where Node is present.")]


def main(
    seconds: Seconds = 5.0,
    repeats: Repeats = 3,
    cases: Cases = ALL_CASES,
    databases: Databases = "sqlite,postgresql",
    peer: Peer = True,
) -> None:
    """Measure the service, one worker on one processor, beside a bare ASGI application and Better Auth."""
    # Whoever ends this ends the servers with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        load.check()
        rounds = Rounds(seconds, repeats, machine.choose_cores())
        _measure(rounds, tuple(cases.split(",")), databases.split(","), _installed(peer))
    except (load.WrkMissing, ServerFailed) as fault:
        sys.exit(str(fault))


def _measure(rounds: Rounds, wanted: tuple[str, ...], databases: list[str], peer: Path | None) -> None:
    # What is started inherits the place of this process; the servers are given theirs.
    os.sched_setaffinity(0, {rounds.cores.load})
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-bench-")))
        contest = Contest(directory, rounds.cores.server)
        cluster = stack.enter_context(_cluster()) if "postgresql" in databases else None
        stack.callback(contest.stop)
        contest.add_bare()
        for name in databases:
            place = cluster if name == "postgresql" else None
            contest.add_gatewright(name, place)
            contest.add_many_keys(name, place)
            contest.add_by_mail(name, place)
            if peer is not None:
                contest.add_better_auth(name, place, peer)
            if rounds.cores.server != rounds.cores.load:
                contest.add_second_worker(name, place, (rounds.cores.server, rounds.cores.load))
        if cluster is not None:
            rounds.postmaster = asyncio.run(_postmaster(cluster.url()))
        results = rounds.measure(contest.cases_in_turn(wanted))
        print(table.speeds(results, contest.peers), end="\n\n")
        print(table.starts(contest.servers), end="\n\n")
        print(goals.table(results, contest))
    for where, hashes in (
        ("the servers' processor", rounds.hashes),
        ("both processors", rounds.hashes_of_two),
    ):
        if hashes:
            print(f"\nargon2id on {where}, nothing else: {statistics.median(hashes):.0f} hashes per second")


def _installed(wanted: bool) -> Path | None:
    """Install the peer if it is wanted; say so if that cannot be."""
    try:
        return better_auth.install() if wanted else None
    except PeerAbsent as fault:
        print(f"Better Auth is left out: {fault}", file=sys.stderr)
        return None


@contextmanager
def _cluster() -> Iterator[Cluster]:
    """Lend a private PostgreSQL server."""
    # A server that is given to the tests may be anywhere: what is measured here must be known.
    os.environ.pop("GATEWRIGHT_TEST_POSTGRES", None)
    cluster = Cluster()
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


async def _postmaster(url: str) -> int:
    """Return the process that all the work of a PostgreSQL server descends from."""
    connection = await asyncpg.connect(url)
    try:
        return machine.parent(await connection.fetchval("SELECT pg_backend_pid()"))
    finally:
        await connection.close()


typer.run(main)
