"""Access to SQLite files for migrations, for the import from another program, and for `gatewright doctor`."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, NullPool, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from server.database.sqlite.connection import keep_private, prepare

VERSION = sqlite3.sqlite_version_info
"""The version of SQLite, which comes with Python."""


class UnusableFile(Exception):
    """A SQLite file cannot be written; the message is the name of SQLite's error, as in `SQLITE_BUSY`."""


def migration_engine(path: str, timeout: float) -> Engine:
    """Create an engine whose transactions begin with the write lock, or fail after `timeout` seconds.

    Foreign keys are not enforced.
    """
    keep_private(path)
    engine = create_engine(
        URL.create("sqlite", database=path),
        connect_args={"timeout": timeout, "isolation_level": None},
        poolclass=NullPool,
        hide_parameters=True,
    )
    event.listen(engine, "connect", lambda connection, record: _prepare_migration(connection))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _prepare_migration(connection: sqlite3.Connection) -> None:
    prepare(connection)
    # Alembic copies a table and drops the original. SQLite then deletes its rows first, which would cascade.
    connection.execute("PRAGMA foreign_keys = OFF")


def foreign_sqlite_engine(path: str) -> AsyncEngine:
    """Create an engine that opens the file of another program read-only. Each transaction reads one snapshot."""
    url = URL.create(
        "sqlite+aiosqlite", database=f"file:{os.path.abspath(path)}", query={"mode": "ro", "uri": "true"}
    )
    engine = create_async_engine(url, hide_parameters=True)
    event.listen(engine.sync_engine, "connect", _keep_invalid_utf8)
    # Python's driver begins no transaction for reads; without one, every page would see another state of the file.
    event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def revision_in_file(path: Path, timeout: float) -> str | None:
    """Return the revision of the schema in a file; None if the file has no schema.

    Nothing is written, but the write lock is acquired within `timeout` seconds, which shows that the file is writable.
    Raises UnusableFile if it is not.
    """
    uri = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(
            sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
        ) as connection:
            # The write lock shows whether file, folder and disk can be written; opening alone does not.
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


def rows_in_file(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on a file that is opened read-only; an empty list if that fails."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            return connection.execute(sql).fetchall()
    except sqlite3.Error:
        return []


def _keep_invalid_utf8(connection: Any, record: object) -> None:
    """Accept text that is not UTF-8, so that only its row is refused and the import continues."""
    connection.driver_connection.text_factory = lambda octets: octets.decode("utf-8", "surrogateescape")
