"""Migrations at startup: one instance migrates the schema while other instances wait."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from server.database.alembic import STEPS, PendingIndexes, pending_indexes
from server.database.database import Database
from server.database.errors import first_line, is_lock_timeout, is_unavailable
from server.database.postgresql.engine import patient_postgresql_engine
from server.database.schema import IS_INVALID, Mode, SchemaRefused, current_is_head, head
from server.database.sqlite.engine import migration_engine

IndexSearch = Callable[[Connection, str], Sequence[PendingIndexes]]
"""A function that finds the indexes that can be created before the migrations up to a revision."""

_LOCK = 0x6761746577726967
"""The key of the advisory lock: the letters `gatewrig`; any number would do."""

_PAUSE = 0.2
"""Seconds between two attempts to get the lock."""

_LOCK_TIMEOUT = 0.5
"""Seconds that a step waits for a table lock; meanwhile every request for that table waits behind it."""

_RETRY_PAUSE = 2.0
"""Seconds before the next attempt, in which the waiting requests proceed."""


_SEARCH_INDEXES = {"ix_user_email_trigrams": "email", "ix_user_name_trigrams": "lower(name)"}
_TRY_LOCK = text("SELECT pg_try_advisory_xact_lock(:key)")


class _Blocked(NamedTuple):
    """The reason why an attempt failed, and the seconds until the next one."""

    reason: str
    pause: float


async def prepare(database: Database, mode: Mode, *, patience: float = 600.0) -> None:
    """Migrate the schema of the database to the newest revision, or check that it is current.

    With the mode "auto" every schema is migrated, with "empty" only an empty database; otherwise, and with "check", the
    schema is only checked. One instance migrates while the others wait, at most `patience` seconds. An instance also
    waits that long for a table that a long transaction uses, such as a backup; requests proceed in between. On
    PostgreSQL the indexes of large tables are created before the migrations, without blocking requests.

    Raises SchemaRefused if the schema is not current afterwards, or was created by a newer program.
    """
    if await current_is_head(database):
        return
    deadline = time.monotonic() + patience
    is_concurrent = mode == "auto" and database.dialect == "postgresql"

    def step(connection: Connection) -> None:
        STEPS[mode](connection, head())

    async def attempt() -> bool:
        has_indexes = not is_concurrent or await _create_indexes(database, pending_indexes, deadline)
        return has_indexes and await run_alone(database, _with_users_locked(step) if is_concurrent else step)

    await persist(attempt, patience)


async def persist(attempt: Callable[[], Awaitable[bool]], patience: float) -> None:
    """Call `attempt`, a change of the schema, until it succeeds.

    It is called again if it returns False, because another instance changes the schema, or if a table is in use. Raises
    SchemaRefused after `patience` seconds, and the other errors of the database.
    """
    deadline = time.monotonic() + patience
    while (obstacle := await _try(attempt)) is not None:
        if time.monotonic() >= deadline:
            raise SchemaRefused(f"{obstacle.reason} for {patience:g} s")
        await asyncio.sleep(obstacle.pause)


async def _try(attempt: Callable[[], Awaitable[bool]]) -> _Blocked | None:
    """Try once, unless another instance is migrating; return the obstacle, if any."""
    try:
        is_done = await attempt()
    except DBAPIError as error:
        if not is_lock_timeout(error):  # defence: R22 lock-timeout-retry
            raise
        return _Blocked("another transaction has been using a table that is to be changed", _RETRY_PAUSE)
    return None if is_done else _Blocked("another instance has been migrating the database", _PAUSE)


async def _create_indexes(database: Database, search: IndexSearch, deadline: float) -> bool:
    """Create the indexes of the migrations to come; return False while another instance migrates."""
    found: list[PendingIndexes] = []
    is_alone = await run_alone(database, lambda connection: found.extend(search(connection, head())))
    for pending in found:
        is_alone = (
            is_alone
            and await run_alone(database, _with_users_locked(pending.upgrade))
            and await run_outside_transactions(database, pending.create, deadline)
        )
    return is_alone


_LOCK_USERS = text(
    """DO $$ BEGIN IF to_regclass('"user"') IS NOT NULL
    THEN LOCK TABLE "user" IN ACCESS EXCLUSIVE MODE; END IF; END $$"""
)


def _with_users_locked(step: Callable[[Connection], None]) -> Callable[[Connection], None]:
    """Return a step that locks the table `user` of PostgreSQL first."""

    def run(connection: Connection) -> None:
        # Requests lock a user before the user's other rows; migrations in another order would deadlock with them.
        connection.execute(_LOCK_USERS)
        step(connection)

    return run


async def run_alone(database: Database, step: Callable[[Connection], None]) -> bool:
    """Run a step in one transaction while no other instance runs one, and commit it.

    Return False, without running the step, if another instance runs one now.
    """
    if database.dialect == "postgresql":
        return await _run_on_postgresql(database, step)
    return await asyncio.to_thread(_run_on_sqlite, database, step)


@asynccontextmanager
async def _engine(database: Database) -> AsyncIterator[AsyncEngine]:
    engine = patient_postgresql_engine(database.address.target, database.timeout, pooled=database.pooled)
    try:
        yield engine
    finally:
        await engine.dispose()


async def _run_on_postgresql(database: Database, step: Callable[[Connection], None]) -> bool:
    # A migration may take longer than a statement of the service. The lock is released with the transaction.
    async with _engine(database) as engine, engine.begin() as connection:
        # defence: R22 lock-timeout
        await connection.execute(text(f"SET LOCAL lock_timeout = {int(_LOCK_TIMEOUT * 1000)}"))
        has_lock = await connection.scalar(_TRY_LOCK, {"key": _LOCK})
        if has_lock:
            await connection.run_sync(step)
        return bool(has_lock)


async def run_outside_transactions(
    database: Database, step: Callable[[Connection], None], deadline: float
) -> bool:
    """Run a step on PostgreSQL, in which each statement is committed at once, while no other instance migrates.

    Return False, without running the step, if another instance migrates now. The statements wait for locks until the
    deadline (`time.monotonic`); behind a pooler, which drops that setting, they wait without a limit.
    """
    # The lock needs its own connection, because CREATE INDEX CONCURRENTLY cannot run in a transaction.
    async with _engine(database) as engine, engine.begin() as holder:
        has_lock = await holder.scalar(_TRY_LOCK, {"key": _LOCK})
        # This statement ends the snapshot of the previous one; the creation of an index would wait for its end.
        await holder.execute(text("SET LOCAL lock_timeout = 0"))
        if has_lock:
            async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                if not database.pooled:
                    wait = max(deadline - time.monotonic(), _LOCK_TIMEOUT)
                    await connection.execute(text(f"SET lock_timeout = {int(wait * 1000)}"))
                await connection.run_sync(step)
        return bool(has_lock)


def _run_on_sqlite(database: Database, step: Callable[[Connection], None]) -> bool:
    with migration_engine(database.address.target, database.timeout).connect() as connection:
        try:
            # The transaction begins with the write lock.
            connection.begin()
        except Exception as error:
            if not is_unavailable(error):
                raise
            return False
        step(connection)
        connection.commit()
        return True


async def add_search_indexes(database: Database) -> None:
    """Create the indexes that speed up searches for parts of names and email addresses, unless they exist.

    The service may run meanwhile. Raises SchemaRefused on SQLite, and if the database's user may not create the
    extension `pg_trgm`.
    """
    if database.dialect != "postgresql":
        raise SchemaRefused("only PostgreSQL has indexes for parts of texts")
    try:
        # CREATE INDEX CONCURRENTLY cannot run in a transaction.
        async with (
            _engine(database) as engine,
            engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection,
        ):
            await connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            for name, expression in _SEARCH_INDEXES.items():
                # An interrupted creation leaves an invalid index behind.
                if await connection.scalar(IS_INVALID, {"name": name}):
                    await connection.execute(text(f"DROP INDEX CONCURRENTLY {name}"))
                definition = f'{name} ON "user" USING gin ({expression} gin_trgm_ops)'
                await connection.execute(text(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {definition}"))
    except DBAPIError as error:
        raise SchemaRefused(f"the indexes cannot be created: {first_line(error)}") from error
