"""The schema at start: brought up to date by one instance while the others wait, or only checked (behaviour 2, 12)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from sqlalchemy import String, bindparam, column, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from models import migrations
from models.queries import Query
from server.database import Database, is_unavailable
from server.database_faults import is_missing_table
from server.engines import patient_postgresql_engine

_version = column("version_num", String(32))
_AT_REVISION = Query(
    select(_version)
    .select_from(table("alembic_version"))
    .where(_version == bindparam("value", type_=String(32))),
    tuple,
)
"""Whether the schema is at the given revision."""

_LOCK = 0x6761746577726967
"""The advisory lock of whoever migrates; the letters `gatewrig`, as any number will do."""

_PAUSE = 0.2
"""Seconds between two attempts to get the lock."""


SCRIPTS = Path(migrations.__file__).parent
VERSIONS = SCRIPTS / "versions"

Mode = Literal["auto", "empty", "check"]


class SchemaRefused(Exception):
    """The program cannot work with the schema it found; the message is one line for the operator."""


async def prepare(database: Database, mode: Mode, *, patience: float = 600.0) -> None:
    """Bring the schema to the head ("auto"), an empty database only ("empty"), or refuse unless it is there ("check").

    Of several instances one migrates; the others wait, at most `patience` seconds, and find nothing left to do. Raises
    SchemaRefused, also for a schema made by a newer program.
    """
    if await current_is_head(database):
        return
    # Alembic is a tenth of the time and the memory of a start, and a start that finds its schema has no use for it.
    migrating = import_module("server.migrating")
    async with _locked(database, patience) as connection:
        await connection.run_sync(migrating.STEPS[mode], head())


async def current_is_head(database: Database) -> bool:
    """Whether the schema is what this program was written for. Raises Unavailable when the database does not answer."""
    try:
        return await database.reads.one(_AT_REVISION, head()) is not None
    except Exception as error:
        if is_missing_table(error):
            return False
        raise


@cache
def head() -> str:
    """Give the newest revision this program knows: files are named for theirs, in rising order."""
    return max(file.name.partition("_")[0] for file in VERSIONS.glob("[0-9]*_*.py"))


@asynccontextmanager
async def _locked(database: Database, patience: float) -> AsyncIterator[AsyncConnection]:
    """Give a connection in a transaction that nobody else has at the same time; it is committed at the end."""
    lock = _lock_postgresql if database.dialect == "postgresql" else _lock_sqlite
    deadline = time.monotonic() + patience
    while True:
        async with lock(database) as connection:
            if connection is not None:
                yield connection
                return
        if time.monotonic() >= deadline:
            raise SchemaRefused(f"another instance has been migrating the database for {patience:g} s")
        await asyncio.sleep(_PAUSE)


@asynccontextmanager
async def _lock_postgresql(database: Database) -> AsyncIterator[AsyncConnection | None]:
    # A migration may take longer than a statement of the service; the lock falls with the transaction.
    engine = patient_postgresql_engine(database.address.target, database.timeout)
    try:
        async with engine.begin() as connection:
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
