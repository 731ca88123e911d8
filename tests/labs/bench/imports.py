"""`python -m tests.labs.bench.imports`: an import that is killed in the middle, resumed and repeated; time and memory.

The users are in a file as Clerk's dashboard writes it, and go into a private PostgreSQL that writes to the disk. The
first run reads the file from standard input until half of the users are stored, and is killed by SIGKILL. The next
two read the whole file.
"""

import asyncio
import csv
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Annotated, Any

import asyncpg
import typer

from server.importers.run import BATCH
from tests.labs.bench.machine import memory, spent_seconds
from tests.labs.bench.timing import timed
from tests.live import PROGRAM, environment
from tests.postgres import Cluster

HASH = "$2b$10$bneHx5CIHsmqFstarXIECeXyeuRAezm1ADIpPxalALdkkfIaobD1q"
COLUMNS = (
    "id", "first_name", "last_name", "username", "primary_email_address", "verified_email_addresses", "password_digest",
    "password_hasher",
)  # fmt: skip
ON_DISK = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "autovacuum": "on"}
PAUSE = 0.5
"""Seconds between two samples of the memory."""
MOST_GROWTH = 1.2
"""The goal: the peak of the memory, in that of the first quarter of a run."""
LONG_ENOUGH = 60.0
"""Seconds; a shorter run says nothing about growth, because the program is loaded in it."""
COUNTS = """
SELECT (SELECT count(*) FROM "user"), (SELECT count(DISTINCT email) FROM "user"),
  (SELECT count(*) FROM account), (SELECT count(DISTINCT user_id) FROM account),
  (SELECT count(*) FROM audit WHERE event = 'user.created'),
  (SELECT count(DISTINCT user_id) FROM audit WHERE event = 'user.created')
"""

Users = Annotated[int, typer.Option(min=10 * BATCH, help="Users in the file.")]


@dataclass
class Run:
    """What a run of the command took."""

    name: str
    exit_status: int = 0
    output: str = ""
    stored: int = 0
    """Users whom this run has stored."""
    seconds: float = 0.0
    processor: float = 0.0
    """Seconds of processor time of the command."""
    database: float = 0.0
    """Seconds of processor time of PostgreSQL."""
    memory: list[float] = field(default_factory=list)
    """Samples of the resident memory in MB."""

    @property
    def growth(self) -> float | None:
        """Return the peak of the memory, in that of the first quarter; None for a short run."""
        if self.seconds < LONG_ENOUGH:
            return None
        return max(self.memory) / max(self.memory[: len(self.memory) // 4])


@dataclass(frozen=True)
class Lab:
    """A database, and a folder with the file of the users."""

    directory: Path
    url: str
    users: int
    server: int = 0
    """The process that starts all others of PostgreSQL; 0 if its processor time is not measured."""

    @property
    def file(self) -> Path:
        """Return the file of the users."""
        return self.directory / "users.csv"

    def write_file(self) -> None:
        """Write the file of the users."""
        with self.file.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            for number in range(self.users):
                email = f"user{number}@example.com"
                name = f"Number {number}"
                rows.writerow((f"user_{number:027d}", "Ada", name, "", email, email, HASH, "bcrypt"))

    def kill(self) -> Run:
        """Kill the command once half of the users are stored. It waits for the rest, so it cannot end before."""
        with self._measured("killed", "-", stdin=subprocess.PIPE) as (run, process):
            assert process.stdin is not None
            with process.stdin as stdin, self.file.open("rb") as file:
                # As many bytes as there are users: less than a hundredth of the file.
                while self.count() < self.users // 2 and (part := file.read(self.users)):
                    stdin.write(part)
                    stdin.flush()
                    run.memory.append(memory(process.pid))
                process.kill()
        return run

    def run(self, name: str) -> Run:
        """Import the whole file."""
        with self._measured(name, str(self.file)) as (run, process):
            while process.poll() is None:
                run.memory.append(memory(process.pid))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PAUSE)
        return run

    def count(self) -> int:
        """Return the number of users in the database."""
        [stored] = asyncio.run(_row(self.url, 'SELECT count(*) FROM "user"'))
        return int(stored)

    def counts(self) -> list[int]:
        """Return the numbers of users, accounts and audit records, each with and without repetitions."""
        return list(asyncio.run(_row(self.url, COUNTS)))

    @contextmanager
    def _measured(
        self, name: str, file: str, stdin: int = subprocess.DEVNULL
    ) -> Iterator[tuple[Run, "subprocess.Popen[bytes]"]]:
        run, before = Run(name), self.count()
        processor, database = _processor(), spent_seconds(self.server)
        output = (self.directory / f"{name}.txt").open("w+b")
        with output, timed() as taken:
            process = subprocess.Popen(
                [PROGRAM, "import", "clerk", file], cwd=self.directory, stdin=stdin, stdout=output,
                stderr=subprocess.STDOUT, env=environment({"database_url": self.url, "mail.sender": "none"}),
            )  # fmt: skip
            try:
                yield run, process
            finally:
                process.kill()
                run.exit_status = process.wait()
            output.seek(0)
            run.output = output.read().decode().strip()
        run.seconds, run.processor = taken[0], _processor() - processor
        run.database, run.stored = spent_seconds(self.server) - database, self.count() - before


def main(users: Users = 1_000_000) -> None:
    """Kill an import in the middle, resume it, and repeat it; the exit status is 1 if a goal is missed."""
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-imports-")))
        cluster = Cluster(None, **ON_DISK, shared_buffers="1GB", max_wal_size="4GB")
        cluster.start()
        ends.callback(cluster.stop)
        url, runs = cluster.create(migrated=True), []
        [lock_file] = asyncio.run(_row(url, "SELECT pg_read_file('postmaster.pid')"))
        lab = Lab(directory, url, users, server=int(lock_file.split()[0]))
        for run in measured(lab):
            print(run.output or f"{run.name} after {run.stored} users", flush=True)
            runs.append(run)
        missed = missed_goals(lab, runs)
    print(_table(runs, users), *missed or ["All goals are met."], sep="\n")
    if missed:
        raise typer.Exit(1)


def measured(lab: Lab) -> Iterator[Run]:
    """Yield the run that is killed, the one that resumes it, and a repetition."""
    lab.write_file()
    yield lab.kill()
    yield lab.run("resumed")
    yield lab.run("repeated")


def missed_goals(lab: Lab, runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each goal that these runs have missed."""
    killed, *whole = runs
    missed = [f"{run.name}: the exit status is {run.exit_status}." for run in whole if run.exit_status]
    if not 0 < killed.stored < lab.users:
        missed.append(f"The killed run stored {killed.stored} users.")
    if whole[-1].stored:
        missed.append(f"The repeated run stored {whole[-1].stored} users.")
    if set(counts := lab.counts()) != {lab.users}:
        missed.append(f"Users, accounts and audit records, each with and without repetitions: {counts}.")
    for run in runs:
        if run.growth is not None and run.growth > MOST_GROWTH:
            missed.append(f"{run.name}: the memory grew to {run.growth:.2f} times that of the beginning.")
    return missed


def _table(runs: Sequence[Run], users: int) -> str:
    lines = [
        "| run | users stored | seconds | users per second | CPU s per 1,000 users | PostgreSQL | peak MB | growth |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in runs:
        # A repetition reads all users, and stores none.
        read = run.stored or users
        growth = "" if run.growth is None else f"{run.growth:.2f}"
        per_user = (read / run.seconds, 1000 * run.processor / read, 1000 * run.database / read)
        lines.append(
            f"| {run.name} | {run.stored:,} | {run.seconds:.0f} | {per_user[0]:,.0f} | {per_user[1]:.2f}"
            f" | {per_user[2]:.2f} | {max(run.memory):.0f} | {growth} |"
        )
    return "\n".join(lines)


def _processor() -> float:
    """Return the seconds of processor time of all processes that this one has started and that have ended."""
    spent = getrusage(RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


async def _row(url: str, sql: str) -> Sequence[Any]:
    connection = await asyncpg.connect(url)
    try:
        row: Sequence[Any] = await connection.fetchrow(sql)
    finally:
        await connection.close()
    return row


if __name__ == "__main__":
    typer.run(main)
