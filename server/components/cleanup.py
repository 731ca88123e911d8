"""Clean-up of expired rows, by one instance at a time.

It only limits the size of the tables: code that reads a row checks the expiry itself.
"""

import asyncio
import time
from collections import Counter as Counts
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Table, delete, select, true
from sqlalchemy.sql.dml import ReturningDelete

from domain import tokens
from models.base import EPOCH, Retention, metadata, tables
from server.components.component import Component, Core, PeriodicJob
from server.components.scheduler import take_lease
from server.config.sources import value_of
from server.database.database import Database
from server.database.partitions import maintain, tables_with_expired_rows

EVERY = 300.0
"""Seconds from one clean-up to the next."""

_BATCH = 500  # defence: R41 batch
"""Rows removed in one transaction."""

_PAUSE = 0.02
"""Seconds between two batches. A process that waits for SQLite's lock sleeps and retries, so it needs a gap."""

_REST = 3
"""The pause after a batch, as a multiple of its duration: requests need the database, and no client waits for this."""

_LEASE = "cleanup"
_PARTITIONS_EVERY = 3600.0
_PARTITIONS_LEASE = "partitions"

FOR_EVER = timedelta(0)
"""The value of a retention setting for rows that are never removed."""

Period = Callable[[str], timedelta]
"""A function that returns the value of the retention setting of this name; `FOR_EVER` keeps the rows."""

_log = structlog.get_logger(__name__)


async def run(
    database: Database, clock: Callable[[], datetime], holder: str, period: Period = lambda _: FOR_EVER
) -> None:
    """Remove all expired rows, and log their number by table, unless another instance has the lease of the clean-up.

    `holder` is the name of this instance in the lease. The lease lasts until the next run, so that no other instance
    cleans up in between, and is extended during a long clean-up. `period` returns the retention settings, by default
    `FOR_EVER`.
    """

    async def is_ours() -> bool:
        return await take_lease(database, _LEASE, holder, now=clock(), seconds=EVERY)

    if await is_ours():
        _log.info("cleanup.done", **await delete_expired(database, clock(), period, may_continue=is_ours))


async def run_partitions(
    database: Database, clock: Callable[[], datetime], holder: str, period: Period
) -> None:
    """Create the next monthly partitions of the table `audit` and drop expired ones.

    Does nothing if another instance than `holder` has the lease.
    """
    now = clock()
    if await take_lease(database, _PARTITIONS_LEASE, holder, now=now, seconds=_PARTITIONS_EVERY):
        await maintain(database, now, period("audit.retention") or None)


async def delete_expired(
    database: Database,
    now: datetime,
    period: Period = lambda _: FOR_EVER,
    may_continue: Callable[[], Awaitable[bool]] | None = None,
) -> dict[str, int]:
    """Remove all rows that have expired at `now`, in short transactions; return the number of rows by table.

    If `may_continue` is given, it is called after each full batch; if it returns False, the removal stops.
    """
    removed: Counts[str] = Counts()
    for expired in _expired_rows(now, period):
        for table in await tables_with_expired_rows(database, expired.table):
            async for number in _batches(database, expired._replace(table=table)):
                removed[expired.table.name] += number
                if number == _BATCH and may_continue is not None and not await may_continue():
                    return dict(removed)
    return dict(removed)


class _ExpiredRows(NamedTuple):
    """The removable rows of one table: those that have expired, according to their retention."""

    table: Table
    retention: Retention
    until: datetime


def _expired_rows(now: datetime, period: Period) -> list[_ExpiredRows]:
    """Return the removable rows of all tables at `now`, as the tables declare it."""
    expired = [
        _ExpiredRows(metadata.tables[str(table.__tablename__)], retention, now - keep)
        for table in tables()
        for retention in getattr(table, "__retention__", ())
        if (keep := _keep(retention, period)) is not None
    ]
    # A changed setting may expire a whole history at once, so rows with such a retention are removed last.
    return sorted(expired, key=lambda one: isinstance(one.retention.keep, str))


def _keep(retention: Retention, period: Period) -> timedelta | None:
    """Return how long rows are kept; None means forever."""
    return retention.keep if isinstance(retention.keep, timedelta) else period(retention.keep) or None


async def _batches(database: Database, expired: _ExpiredRows) -> AsyncIterator[int]:
    """Remove the rows batch by batch, and yield the size of each.

    Rows that a request has locked are left for the next clean-up.
    """
    since = EPOCH
    while True:
        begun = time.monotonic()
        async with database.transaction() as session:
            moments = (await session.execute(_removal(expired, since))).scalars()
        yield len(moments)
        if len(moments) < _BATCH:
            return
        since = max(moments)
        await asyncio.sleep(max(_PAUSE, _REST * (time.monotonic() - begun)))


def _removal(expired: _ExpiredRows, since: datetime) -> ReturningDelete[Any]:
    """Return the statement that removes the oldest batch and returns the expiry times of its rows.

    The next batch begins where this one ended, because deleted rows stay in the index until PostgreSQL vacuums it.
    """
    table, retention, until = expired
    moment = table.c[retention.moment]
    [key] = [table.c[retention.key]] if retention.key else table.primary_key
    condition = true() if retention.where is None else retention.where(table.c)
    due = select(key).where(moment >= since, moment <= until, condition).order_by(moment)
    # Waiting for a locked row could deadlock with the request that holds it. SQLite ignores the clause, and has one
    # writer.
    batch = due.limit(_BATCH).with_for_update(skip_locked=True).cte("batch")
    return (
        delete(table)
        .where(key.in_(select(batch.c[key.key])))
        .returning(moment)
        .execution_options(in_thread=True)
    )


class Cleanup(Component):
    """The component that removes expired rows from the tables of all capabilities."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the jobs that remove expired rows and maintain the partitions of the table `audit`."""
        core = self._core
        job = partial(run, core.database, core.clock, tokens.token(), partial(value_of, core.settings))
        yield PeriodicJob("cleanup", job, EVERY)
        if core.database.dialect == "postgresql":
            keep = partial(value_of, core.settings)
            partitions = partial(run_partitions, core.database, core.clock, tokens.token(), keep)
            yield PeriodicJob("partitions", partitions, _PARTITIONS_EVERY)
