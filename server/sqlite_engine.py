"""How a SQLite file is connected to: one connection for writing, whose transactions begin with the lock."""

import contextlib
import os
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import await_

from server import sqlite_connection
from server.engines import HAS_BEGUN, READS_ONLY
from server.pools import LendingPool, remaining


def sqlite_engine(path: str, timeout: float) -> AsyncEngine:
    """Make the engine of a SQLite file; every transaction begins with the lock for writing, or fails after `timeout`,
    but for those of `begin_snapshot`.

    One connection: only one transaction can write anyway, and waiting for the pool is fair and costs nothing, whereas
    SQLite waits for its lock by sleeping and trying again. Who only reads uses `Database.reads`.
    """
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=path),
        connect_args={
            "timeout": timeout,
            "isolation_level": None,
            "async_creator_fn": sqlite_connection.connect,
        },
        poolclass=LendingPool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=timeout,
        # Whoever gives the connection back has ended the transaction: SQLAlchemy's own, and `SqliteTransaction`.
        pool_reset_on_return=None,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "do_connect", lambda *_: _keep_private(path))
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", partial(_begin_sqlite, timeout))
    return engine


_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "foreign_keys = ON",
    # KiB of pages that who writes keeps, 2,000 unless said: the system keeps them, too.
    "cache_size = -512",
)


def _keep_private(path: str) -> None:
    """Make the file, if there is none, so that its owner alone reads the addresses and hashes in it; SQLite gives the
    files beside it the same permissions. A place where it cannot be made is reported when it is opened."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _prepare_sqlite(connection: Any, record: object) -> None:
    # SQLite's own function knows ASCII only; a search must find on both databases what it finds on one.
    connection.create_function("lower", 1, _lower, deterministic=True)
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _begin_sqlite(timeout: float, connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(HAS_BEGUN):
        return
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite_connection.Connection)  # noqa: S101
    reads_only = options.get(READS_ONLY, False)
    if reads_only or not driver.begin_at_once():
        # What the pool's queue has taken is not waited for a second time at SQLite's lock.
        await_(driver.begin(remaining(timeout), reads_only=reads_only))
