"""How a SQLite file is connected to: one connection for writing, whose transactions begin with the lock.

Files of other programs are only read, and `gatewright doctor` looks at the service's own before there is an engine.
"""

import contextlib
import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import await_

from server.database.pool import CountingPool, remaining
from server.database.session import HAS_BEGUN, READS_ONLY
from server.database.sqlite import connection as sqlite_connection

VERSION = sqlite3.sqlite_version_info
"""Of SQLite itself, which comes with Python."""


class UnusableFile(Exception):
    """A SQLite file cannot be written; the message is the name of SQLite's error, as in `SQLITE_BUSY`."""


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
        poolclass=CountingPool,
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


def foreign_sqlite_engine(path: str) -> AsyncEngine:
    """Create an engine that only reads the file of another program, each transaction in one snapshot."""
    url = URL.create(
        "sqlite+aiosqlite", database=f"file:{os.path.abspath(path)}", query={"mode": "ro", "uri": "true"}
    )
    engine = create_async_engine(url, hide_parameters=True)
    event.listen(engine.sync_engine, "connect", _keep_what_is_no_text)
    # Python's driver begins no transaction to read; without one, every page would be of another moment.
    event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def revision_in_file(path: Path, timeout: float) -> str | None:
    """Return the revision of the schema in a file that can be written; None for one without a revision.

    Nothing is written, but the lock for writing is held for a moment; it is waited for `timeout` seconds. Raises
    UnusableFile.
    """
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(
            sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
        ) as connection:
            connection.execute("BEGIN IMMEDIATE")
            tables = "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
            is_there = connection.execute(tables).fetchone()
            row = (
                connection.execute("SELECT version_num FROM alembic_version").fetchone() if is_there else None
            )
            connection.execute("ROLLBACK")
    except sqlite3.Error as fault:
        raise UnusableFile(getattr(fault, "sqlite_errorname", None) or type(fault).__name__) from fault
    return row[0] if row else None


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


def _keep_what_is_no_text(connection: Any, record: object) -> None:
    """Let a text that is not UTF-8 through, for the row to be refused; the driver would end the whole import."""
    connection.driver_connection.text_factory = lambda octets: octets.decode("utf-8", "surrogateescape")


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
