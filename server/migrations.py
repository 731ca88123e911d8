"""The schema at start: brought up to date by one instance while the others wait, or only checked (behaviour 2, 12)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

from sqlalchemy import Connection, String, bindparam, column, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from models import migrations
from models.queries import Query
from server.database import Database, is_unavailable
from server.database_faults import is_lock_timeout, is_missing_table

_version = column("version_num", String(32))
_given = bindparam("value", type_=String(32))
_schema = select(_version).select_from(table("alembic_version"))
_AT_REVISION = Query(_schema.where(_version == _given), tuple)
"""Whether the schema is at the given revision."""

_AT_LEAST = Query(_schema.where(_version >= _given), tuple)
"""Whether the schema is at the given revision or a later one; their names are numbers of four digits."""

_LOCK = 0x6761746577726967
"""The advisory lock of whoever migrates; the letters `gatewrig`, as any number will do."""

_PAUSE = 0.2
"""Seconds between two attempts to get the lock."""

_LOCK_TIMEOUT = 1.0
"""Seconds that a step waits for a table: as long as it waits, every request for that table waits behind it."""

_RETREAT = 2.0
"""Seconds in which those requests go ahead before the next attempt."""


SCRIPTS = Path(migrations.__file__).parent
VERSIONS = SCRIPTS / "versions"

Mode = Literal["auto", "empty", "check"]


class SchemaRefused(Exception):
    """The program cannot work with the schema it found; the message is one line for the operator."""


class _Obstacle(NamedTuple):
    """Why the schema could not be seen to just now, and in how many seconds to try again."""

    reason: str
    pause: float


async def prepare(database: Database, mode: Mode, *, patience: float = 600.0) -> None:
    """Bring the schema to the head ("auto"), an empty database only ("empty"), or refuse unless it is there ("check").

    Of several instances one migrates; the others wait, at most `patience` seconds, and find nothing left to do. As long
    waits one that finds a table in use by a long transaction, such as a backup, and lets the service's requests pass in
    between. Raises SchemaRefused, also for a schema made by a newer program.
    """
    if await current_is_head(database):
        return
    # Alembic is a tenth of the time and the memory of a start, and a start that finds its schema has no use for it.
    step = partial(import_module("server.migrating").STEPS[mode], head=head())
    deadline = time.monotonic() + patience
    while (obstacle := await _attempt(database, step)) is not None:
        if time.monotonic() >= deadline:
            raise SchemaRefused(f"{obstacle.reason} for {patience:g} s")
        await asyncio.sleep(obstacle.pause)


async def current_is_head(database: Database) -> bool:
    """Whether the schema is what this program was written for. Raises Unavailable when the database does not answer."""
    return await _finds(database, _AT_REVISION)


async def suffices(database: Database) -> bool:
    """Whether this program, which has started already, can go on with the schema.

    It can with a newer one: a migration adds, and the program it belongs to may run beside this one until this one is
    stopped. Raises Unavailable when the database does not answer.
    """
    return await _finds(database, _AT_LEAST)


async def _finds(database: Database, query: Query[tuple[object, ...]]) -> bool:
    try:
        return await database.reads.one(query, head()) is not None
    except Exception as error:
        if is_missing_table(error):
            return False
        raise


@cache
def known() -> frozenset[str]:
    """Give every revision this program knows: files are named for theirs, in rising order."""
    return frozenset(file.name.partition("_")[0] for file in VERSIONS.glob("[0-9]*_*.py"))


def head() -> str:
    """Give the newest revision this program knows."""
    return max(known())


async def _attempt(database: Database, step: Callable[[Connection], None]) -> _Obstacle | None:
    """Do it in one transaction that nobody else has at the same time; give what is in the way, if anything is."""
    lock = _lock_postgresql if database.dialect == "postgresql" else _lock_sqlite
    try:
        async with lock(database) as connection:
            if connection is None:
                return _Obstacle("another instance has been migrating the database", _PAUSE)
            await connection.run_sync(step)
    except DBAPIError as error:
        if not is_lock_timeout(error):
            raise
        return _Obstacle("another transaction has been using a table that is to be changed", _RETREAT)
    return None


@asynccontextmanager
async def _lock_postgresql(database: Database) -> AsyncIterator[AsyncConnection | None]:
    # A migration may take longer than a statement of the service; the lock falls with the transaction.
    make = import_module("server.postgresql_engine").patient_postgresql_engine
    engine: AsyncEngine = make(database.address.target, database.timeout, pooled=database.pooled)
    try:
        async with engine.begin() as connection:
            await connection.execute(text(f"SET LOCAL lock_timeout = {int(_LOCK_TIMEOUT * 1000)}"))
            got = await connection.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection if got else None
    finally:
        await engine.dispose()


@asynccontextmanager
async def _lock_sqlite(database: Database) -> AsyncIterator[AsyncConnection | None]:
    # Every transaction of a SQLite file begins with the lock for writing.
    async with database.begin() as session:
        try:
            connection = await session.connection()
        except Exception as error:
            if not is_unavailable(error):
                raise
            yield None
        else:
            yield connection
            await session.commit()
