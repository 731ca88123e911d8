"""Migrations at start: one instance brings the schema up to date while the others wait (behaviour 2, 12)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from server.database.database import Database
from server.database.errors import is_lock_timeout, is_unavailable
from server.database.schema import Mode, SchemaRefused, current_is_head, head

_LOCK = 0x6761746577726967
"""The advisory lock of whoever migrates; the letters `gatewrig`, as any number will do."""

_PAUSE = 0.2
"""Seconds between two attempts to get the lock."""

_LOCK_TIMEOUT = 1.0
"""Seconds that a step waits for a table: as long as it waits, every request for that table waits behind it."""

_RETREAT = 2.0
"""Seconds in which those requests go ahead before the next attempt."""


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
    from server.database.alembic import STEPS  # noqa: PLC0415 - see above

    def step(connection: Connection) -> None:
        STEPS[mode](connection, head())

    deadline = time.monotonic() + patience
    while (obstacle := await _attempt(database, step)) is not None:
        if time.monotonic() >= deadline:
            raise SchemaRefused(f"{obstacle.reason} for {patience:g} s")
        await asyncio.sleep(obstacle.pause)


async def _attempt(database: Database, step: Callable[[Connection], None]) -> _Obstacle | None:
    """Do it in one transaction that nobody else has at the same time; give what is in the way, if anything is."""
    lock = _lock_postgresql if database.dialect == "postgresql" else _lock_sqlite
    try:
        async with lock(database) as connection:
            if connection is None:
                return _Obstacle("another instance has been migrating the database", _PAUSE)
            await connection.run_sync(step)
    except DBAPIError as error:
        if not is_lock_timeout(error):  # defence: R22 lock-timeout-retry
            raise
        return _Obstacle("another transaction has been using a table that is to be changed", _RETREAT)
    return None


@asynccontextmanager
async def _lock_postgresql(database: Database) -> AsyncIterator[AsyncConnection | None]:
    # A migration may take longer than a statement of the service; the lock falls with the transaction.
    from server.database.postgresql.engine import patient_postgresql_engine  # noqa: PLC0415 - loads asyncpg

    engine = patient_postgresql_engine(database.address.target, database.timeout, pooled=database.pooled)
    try:
        async with engine.begin() as connection:
            # defence: R22 lock-timeout
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
