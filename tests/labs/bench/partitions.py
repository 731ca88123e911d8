"""`python -m tests.labs.bench.partitions`: how long searches of audit records take with one table and with months."""

import asyncio
import random
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import text

from domain.audit import search
from domain.audit.search import AuditQuery, Subject
from domain.context import Context
from server.database import partitioning
from server.database.partitions import creation, next_month
from server.observability import logs
from tests.labs.bench import growth_rows
from tests.labs.bench.timing import timed
from tests.postgres import Cluster
from tests.service import START, Service, close_service, open_service

ONE_TABLE, BY_MONTH = NAMES = ("one table", "by month")
MONTHS = 12
"""Months that the records are spread over, as by the default of `audit.retention`; as many partitions are searched."""
MOST_TIMES = 1.2
"""The goal: the median with partitions, in medians of one table."""
PER_USER = 100

RECORDS = """
INSERT INTO audit (id, time, event, outcome, user_id, actor_id, method, address, user_agent, details)
SELECT lpad(i::text, 32, '0'), TIMESTAMPTZ '{end}' - (i::float8 / {rows}) * INTERVAL '{seconds} seconds',
  (ARRAY['sign_in.succeeded', 'sign_in.failed', 'user.updated', 'session.revoked'])[1 + i % 4],
  CASE i % 4 WHEN 1 THEN 'failure' ELSE 'success' END,
  'u' || i % {users}, 'u' || i % {users}, 'password', '192.0.2.' || i % 250, 'Mozilla/5.0 (X11; Linux x86_64)', '{{}}'
FROM generate_series(1, {rows}) AS i
"""

INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'audit'::regclass AND NOT indisprimary
"""
"""The indexes of the table, which are created when its records are there: that takes less time."""

Records = Annotated[int, typer.Option(min=10_000, help="Audit records.")]
Asked = Annotated[int, typer.Option(min=5, help="Searches of each kind.")]
Apart = Annotated[
    bool, typer.Option("--apart", help="Fill one database after the other has gone: half of the disk.")
]
Search = Callable[[Context], Awaitable[Any]]
Times = dict[str, dict[str, list[float]]]
"""Milliseconds of each kind of search, by the name of the database."""


def main(records: Records = 10_000_000, asked: Asked = 500, *, apart: Apart = False) -> None:
    """Fill two private databases with the same records, and search both in turn."""
    logs.configure("error", "json")
    times: Times = {}
    for names in [[name] for name in NAMES] if apart else [NAMES]:
        with ExitStack() as ends:
            directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-partitions-")))
            cluster = Cluster(None, shared_buffers="2GB")
            cluster.start()
            ends.callback(cluster.stop)
            urls = {name: cluster.create(migrated=True) for name in names}
            asyncio.run(_measure(urls, times, directory, records=records, asked=asked))
    print(_table(times))


async def _measure(
    urls: Mapping[str, str], times: Times, directory: Path, *, records: int, asked: int
) -> None:
    """Fill the databases, add the milliseconds of their searches to `times`, and convert the one table."""
    services = {name: await open_service(url, directory, {}) for name, url in urls.items()}
    try:
        for name, url in urls.items():
            with timed() as taken:
                await _fill(services[name], url, records, by_month=name == BY_MONTH)
            print(f"{records:,} records, {name}: filled in {taken[0]:.0f} s", flush=True)
        for round_ in range(asked):
            for kind, wanted in _searches(random.Random(round_), records // PER_USER).items():
                for name, service in services.items():
                    with timed() as taken:
                        await service.services.unit_of_work.run(wanted)
                    if round_ >= asked // 10:
                        times.setdefault(kind, {}).setdefault(name, []).append(taken[0] * 1000)
        if ONE_TABLE in services:
            with timed() as taken:
                await partitioning.partition(services[ONE_TABLE].services.database, START)
            print(f"Conversion of the one table: {taken[0]:.0f} s", flush=True)
    finally:
        for service in services.values():
            await close_service(service)


def _table(times: Times) -> str:
    lines = ["| ms at p50 | one table | by month | times | goal met |", "| --- | --- | --- | --- | --- |"]
    for kind, found in times.items():
        one, other = (statistics.median(found[name]) for name in NAMES)
        met = "yes" if other <= one * MOST_TIMES else "**no**"
        lines.append(f"| {kind} | {one:.2f} | {other:.2f} | {other / one:.2f} | {met} |")
    return "\n".join(lines)


async def _fill(service: Service, url: str, records: int, *, by_month: bool) -> None:
    end, span = START, timedelta(days=30 * MONTHS)
    await service.services.audit_writer.flush()
    async with service.services.database.transaction() as db:
        await db.execute(text("DELETE FROM audit"))
    if by_month:
        await partitioning.partition(service.services.database, end - span - timedelta(days=62))
        async with service.services.database.transaction() as db:
            month = next_month(end - span)
            while month <= end:
                if not (await db.execute(text(f"SELECT to_regclass('audit_{month:%Y_%m}')"))).scalars()[0]:
                    for statement in creation(month):
                        await db.execute(text(statement))
                month = next_month(month)
    connection = await growth_rows.connect(url)
    await connection.execute("SET maintenance_work_mem = '1GB'")
    indexes = await connection.fetch(INDEXES)
    for name, _ in indexes:
        await connection.execute(f"DROP INDEX {name}")
    await connection.execute(
        RECORDS.format(
            end=end.astimezone(UTC).isoformat(),
            seconds=int(span.total_seconds()),
            rows=records,
            users=records // PER_USER,
        )
    )
    for _, definition in indexes:
        await connection.execute(definition.replace(" ON ONLY ", " ON "))
    await connection.execute("VACUUM (ANALYZE) audit")
    await connection.close()


def _searches(chance: random.Random, users: int) -> Mapping[str, Search]:
    """Return one search of each kind."""
    user, since = f"u{chance.randrange(users)}", START - timedelta(days=chance.randrange(30 * MONTHS))
    within = timedelta(seconds=30)

    def of(query: AuditQuery) -> Search:
        return partial(search.find, wanted=query, before=None, limit=50, within=within)

    return {
        "newest 50": of(AuditQuery()),
        "newest 50 of an event": of(AuditQuery(events=["sign_in.failed"])),
        "newest 50 of a user": of(AuditQuery(subject=Subject(user))),
        "a user, one month": of(
            AuditQuery(subject=Subject(user), since=since - timedelta(days=30), until=since)
        ),
        "a day": of(AuditQuery(since=since - timedelta(days=1), until=since)),
    }


if __name__ == "__main__":
    typer.run(main)
