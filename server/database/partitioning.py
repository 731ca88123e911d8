"""Convert the table `audit` of a PostgreSQL database to monthly partitions, while the service runs.

No record is copied: the old table becomes the partition of all times before a future month, the bound. Every step can
be repeated, so an interrupted conversion is resumed by starting it again.
"""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from server.database.database import Database
from server.database.errors import first_line
from server.database.migrations import persist, run_alone, run_outside_transactions
from server.database.partitions import (
    AHEAD,
    AUDIT,
    BOUNDS,
    LATER,
    creation,
    end_of,
    literal,
    months_from,
    name_of,
)
from server.database.schema import IS_INVALID, SchemaRefused, current_is_head

_AT_LEAST = timedelta(days=32)
"""The least time between the start of a conversion and its bound. Until the conversion is done, the table accepts no
record after the bound.
"""

_KEY = "audit_id_time"
_KIND = text("SELECT relkind FROM pg_class WHERE oid = to_regclass('audit')")
_ESTIMATE = text(
    "SELECT greatest(reltuples, 0)::bigint, pg_relation_size(oid) FROM pg_class WHERE oid = to_regclass('audit')"
)
_INDEXES = text(
    "SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE i.indrelid = to_regclass('audit') AND NOT i.indisprimary AND c.relname <> 'audit_id_time'"
)
_PRIMARY_KEY = text(
    "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass('audit') AND contype = 'p'"
)
_GRANTS = text(
    "SELECT string_agg(privilege_type, ', '), CASE grantee WHEN 'PUBLIC' THEN grantee ELSE quote_ident(grantee) END"
    " FROM information_schema.role_table_grants"
    " WHERE table_name = 'audit' AND table_schema = current_schema() AND grantee <> current_user GROUP BY grantee"
)


async def partition(database: Database, now: datetime, *, patience: float = 600.0) -> bool:
    """Convert the table `audit`; return False if it is partitioned already.

    A step that waits half a second for a lock fails, and is tried again for `patience` seconds. Raises SchemaRefused if
    the schema is not current, if the table is in use for longer, and on SQLite.
    """
    if not await _can_convert(database):
        return False
    deadline = time.monotonic() + patience
    try:
        await persist(lambda: run_alone(database, partial(add_bound, now=now)), patience)
        await persist(lambda: run_outside_transactions(database, build, deadline), patience)
        await persist(lambda: run_alone(database, swap), patience)
    except DBAPIError as error:
        raise SchemaRefused(f"the table {AUDIT} cannot be partitioned: {first_line(error)}") from error
    return True


async def estimate(database: Database) -> tuple[int, int] | None:
    """Return the approximate number of audit records and their size in bytes; None if the table is partitioned already.

    Raises SchemaRefused if the schema is not current, and on SQLite.
    """
    if not await _can_convert(database):
        return None
    async with database.transaction() as transaction:
        [(records, size)] = await transaction.execute(_ESTIMATE)
    return records, size


async def _can_convert(database: Database) -> bool:
    if database.dialect != "postgresql":
        raise SchemaRefused("only PostgreSQL has partitions")
    if not await current_is_head(database):
        raise SchemaRefused("the database schema is not current: migrate it with gatewright migrate")
    async with database.transaction() as transaction:
        return not _is_partitioned((await transaction.execute(_KIND)).scalars()[0])


def add_bound(connection: Connection, *, now: datetime) -> None:
    """Add the constraint that all records are before the bound, a future month. `build` checks the existing rows."""
    if _is_partitioned(connection.scalar(_KIND)):
        return
    bound = connection.scalar(BOUNDS)
    if bound is not None:
        end = end_of(bound)
        if end is not None and end - now > _AT_LEAST / 4:
            return
        connection.execute(text(f"ALTER TABLE {AUDIT} DROP CONSTRAINT {bound}"))
    month = next(month for month in months_from(now) if month - now >= _AT_LEAST)
    connection.execute(
        text(
            f"ALTER TABLE {AUDIT} ADD CONSTRAINT {name_of(month, 'before_')}"
            f" CHECK (time < {literal(month)}) NOT VALID"
        )
    )


def build(connection: Connection) -> None:
    """Create the unique index that a partition needs, and check that all rows are before the bound.

    Requests read and write the table meanwhile.
    """
    # Another process may have converted it since.
    if _is_partitioned(connection.scalar(_KIND)):
        return
    # An interrupted creation leaves an invalid index behind.
    if connection.scalar(IS_INVALID, {"name": _KEY}):
        connection.execute(text(f"DROP INDEX CONCURRENTLY {_KEY}"))
    connection.execute(text(f"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS {_KEY} ON {AUDIT} (id, time)"))
    connection.execute(text(f"ALTER TABLE {AUDIT} VALIDATE CONSTRAINT {connection.scalar(BOUNDS)}"))


def swap(connection: Connection) -> None:
    """Replace the table by a new partitioned table, of which it becomes the first partition."""
    connection.execute(text(f"LOCK TABLE {AUDIT} IN ACCESS EXCLUSIVE MODE"))
    if not _is_partitioned(connection.scalar(_KIND)):
        for statement in list(_swap(connection)):
            connection.execute(text(statement))


def _swap(connection: Connection) -> Iterator[str]:
    bound, key = str(connection.scalar(BOUNDS)), connection.scalar(_PRIMARY_KEY)
    month = end_of(bound)
    if month is None:  # pragma: no cover - the name was made by add_bound
        raise ValueError(bound)
    old = name_of(month, "until_")
    indexes = list(connection.execute(_INDEXES))
    grants = list(connection.execute(_GRANTS))
    yield f"ALTER TABLE {AUDIT} RENAME TO {old}"
    for name, _ in indexes:
        yield f"ALTER INDEX {name} RENAME TO {old}_{name.removeprefix(f'ix_{AUDIT}_')}"
    yield f"ALTER TABLE {old} DROP CONSTRAINT {key}, ADD CONSTRAINT pk_{old} PRIMARY KEY USING INDEX {_KEY}"
    yield (
        f"CREATE TABLE {AUDIT} (LIKE {old} INCLUDING DEFAULTS, CONSTRAINT {key} PRIMARY KEY (id, time))"
        " PARTITION BY RANGE (time)"
    )
    for _, definition in indexes:
        yield definition.replace(":", r"\:")
    yield f"ALTER TABLE {AUDIT} ATTACH PARTITION {old} FOR VALUES FROM (MINVALUE) TO ({literal(month)})"
    yield f"ALTER TABLE {old} DROP CONSTRAINT {bound}"
    yield f"CREATE TABLE {LATER} PARTITION OF {AUDIT} FOR VALUES FROM ({literal(month)}) TO (MAXVALUE)"
    for following in islice(months_from(month), AHEAD + 1):
        yield from creation(following)
    for privileges, grantee in grants:
        yield f"GRANT {privileges} ON {AUDIT} TO {grantee}"


def _is_partitioned(kind: object) -> bool:
    return kind in ("p", b"p")
