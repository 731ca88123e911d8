"""Monthly partitions of the table `audit` on PostgreSQL, once `gatewright database partition` has made them.

The records from before the conversion are in one partition without a lower bound. The partitions `EARLIER` and `LATER`
take records of times before and after all months, so that no record is refused. There is no default partition, because
PostgreSQL can then read the partitions in the order of time, and only as many as a search needs.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice

from sqlalchemy import MetaData, Table, text

from models.audit import Audit
from server.database.database import Database
from server.database.transaction import Transaction

AUDIT = str(Audit.__tablename__)
EARLIER, LATER = f"{AUDIT}_earlier", f"{AUDIT}_later"
"""The partition of all times before the end of the last dropped partition, and that of all times after the last month
that has a partition."""
_DEFAULT = f"{AUDIT}_default"
"""The partition that version 0.2.0 had instead of `EARLIER` and `LATER`."""
AHEAD = 2
"""Number of months after the current one for which partitions are created."""

_LOCK_TIMEOUT = text("SET LOCAL lock_timeout = '1s'")
"""Limits how long a statement waits for the table, because requests wait behind it. The job tries again later."""
PARTITIONS = (
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = to_regclass('audit') ORDER BY c.relname"
)
"""Query for the names of the partitions."""
BOUNDS = text(
    "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass('audit') AND conname LIKE 'audit_before_%'"
)
_NAME = re.compile(rf"{AUDIT}_(until_|before_)?(\d{{4}})_(\d\d)")
_NEAR = timedelta(days=7)

Partitions = Mapping[str, datetime | None]
"""The names of partitions, each with the first moment after it; None for `EARLIER` and `LATER`."""


def next_month(moment: datetime) -> datetime:
    """Return the beginning of the next month, in UTC."""
    first = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def months_from(moment: datetime) -> Iterator[datetime]:
    """Yield the beginnings of a month and of those that follow, without end."""
    month = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while True:
        yield month
        month = next_month(month)


def literal(month: datetime) -> str:
    """Return the beginning of a month as SQL."""
    return f"'{month:%Y-%m-%d}+00'"


def name_of(month: datetime, kind: str = "") -> str:
    """Return the name of a month's partition, of the partition before the month (`kind` is `until_`), or of the
    constraint that all records are before the month (`before_`)."""
    return f"{AUDIT}_{kind}{month:%Y_%m}"


def end_of(name: str) -> datetime | None:
    """Return the first moment after the partition or constraint of this name; None for `EARLIER` and `LATER`."""
    if (match := _NAME.fullmatch(name)) is None:
        return None
    month = datetime(int(match[2]), int(match[3]), 1, tzinfo=UTC)
    return month if match[1] else next_month(month)


async def partitions(transaction: Transaction) -> Partitions:
    """Return the partitions of the table `audit`; none if it is not partitioned."""
    return {name: end_of(name) for name in (await transaction.execute(text(PARTITIONS))).scalars()}


def creation(month: datetime) -> Iterator[str]:
    """Yield the statements that create the partition of a month and move its records there from `LATER`.

    `month` must be the first month of `LATER`. The statements must be executed in one transaction.
    """
    name, begin, end = name_of(month), literal(month), literal(next_month(month))
    yield f"ALTER TABLE {AUDIT} DETACH PARTITION {LATER}"
    yield f"CREATE TABLE {name} (LIKE {AUDIT} INCLUDING ALL)"
    yield f"INSERT INTO {name} SELECT * FROM {LATER} WHERE time < {end}"  # noqa: S608 - names and times of ours
    yield f"DELETE FROM {LATER} WHERE time < {end}"  # noqa: S608
    yield f"ALTER TABLE {AUDIT} ATTACH PARTITION {name} FOR VALUES FROM ({begin}) TO ({end})"
    yield f"ALTER TABLE {AUDIT} ATTACH PARTITION {LATER} FOR VALUES FROM ({end}) TO (MAXVALUE)"


def _replacement(end: datetime) -> Iterator[str]:
    """Yield the statements that make `LATER`, beginning at `end`, of a default partition. They need one transaction."""
    yield f"ALTER TABLE {AUDIT} DETACH PARTITION {_DEFAULT}"
    yield f"ALTER TABLE {_DEFAULT} RENAME TO {LATER}"
    yield f"ALTER TABLE {AUDIT} ATTACH PARTITION {LATER} FOR VALUES FROM ({literal(end)}) TO (MAXVALUE)"


def _removal(name: str, end: datetime) -> Iterator[str]:
    """Yield the statements that drop the first partition, which ends at `end`. They need one transaction."""
    yield f"DROP TABLE {name}"
    # Its records are older than those of the month that is dropped, so that they have expired as well.
    yield f"DROP TABLE IF EXISTS {EARLIER}"
    yield f"CREATE TABLE {EARLIER} PARTITION OF {AUDIT} FOR VALUES FROM (MINVALUE) TO ({literal(end)})"


async def maintain(database: Database, now: datetime, keep: timedelta | None) -> None:
    """Create the partitions of this month and the next ones, and drop those whose records are all older than `keep`.

    `keep` None drops none. If the table is not partitioned, it only removes the bound of an interrupted conversion
    before a record would reach it. Raises the errors of the driver, also if the table is in use for over a second.
    """
    async with database.transaction() as transaction:
        found = await partitions(transaction)
    if not found:
        await _remove_bounds(database, now)
        return
    ends = {end: name for name, end in found.items() if end is not None}
    if _DEFAULT in found:
        await _run(database, *_replacement(max(ends, default=now)))
    last = next(islice(months_from(now), AHEAD, None))
    for month in months_from(max(ends, default=now)):
        if month > last:
            break
        await _run(database, *creation(month))
    for end, name in sorted(ends.items()):
        if keep is not None and end <= now - keep:
            await _run(database, *_removal(name, end))


async def tables_with_expired_rows(database: Database, table: Table) -> list[Table]:
    """Return the tables from which the expired rows of `table` are deleted: itself, or some of its partitions.

    These are the partitions that are not of one month; the others are dropped as a whole.
    """
    if table.name != AUDIT or database.dialect != "postgresql":
        return [table]
    async with database.transaction() as transaction:
        found = await partitions(transaction)
    unbounded = [name for name in found if name in (EARLIER, LATER) or "_until_" in name]
    return [table.to_metadata(MetaData(), name=name) for name in unbounded] if found else [table]


async def _remove_bounds(database: Database, now: datetime) -> None:
    async with database.transaction() as transaction:
        bounds = (await transaction.execute(BOUNDS)).scalars()
    for name in bounds:
        if (end := end_of(name)) is not None and end - now < _NEAR:
            await _run(database, f"ALTER TABLE {AUDIT} DROP CONSTRAINT IF EXISTS {name}")


async def _run(database: Database, *statements: str) -> None:
    async with database.transaction() as transaction:
        for statement in (_LOCK_TIMEOUT, *map(text, statements)):
            await transaction.execute(statement)
