"""SQLite's connection for writing: one way to its thread and back for each statement, where aiosqlite takes four."""

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import aiosqlite

_CHUNK = 64
"""Rows that aiosqlite would fetch at a time; nothing here is fetched in parts."""

Row = tuple[Any, ...]


class Connection(aiosqlite.Connection):
    """aiosqlite's connection, with cursors of ours."""

    def cursor(self) -> "Cursor":  # type: ignore[override]
        """Give a cursor, which costs nothing until it executes something."""
        return Cursor(self)

    async def execute_whole(self, sql: str, parameters: Any, *, many: bool) -> "Executed":
        """Execute a statement, once or for each of many parameters, and give everything there is to know of it."""
        executed: Executed = await self._execute(  # type: ignore[no-untyped-call]
            _execute, self._conn, sql, parameters, many
        )
        return executed


class Executed:
    """What a statement has left behind; the cursor of sqlite3 is closed."""

    __slots__ = ("description", "lastrowid", "rowcount", "rows")

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self.description = cursor.description
        self.rows: list[Row] = cursor.fetchall() if cursor.description else []
        self.rowcount = cursor.rowcount
        self.lastrowid = cursor.lastrowid


class Cursor:
    """As much of a cursor as SQLAlchemy asks for."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._executed: Executed | None = None

    async def __aenter__(self) -> Self:
        """Begin, which is nothing."""
        return self

    async def execute(self, sql: str, parameters: Any = ()) -> None:
        """Execute a statement and fetch all its rows. Raises what sqlite3 raises."""
        self._executed = await self._connection.execute_whole(sql, parameters, many=False)

    async def executemany(self, sql: str, parameters: Sequence[Any]) -> None:
        """Execute a statement for each of the parameters. Raises what sqlite3 raises."""
        self._executed = await self._connection.execute_whole(sql, parameters, many=True)

    async def fetchall(self) -> list[Row]:
        """Give the rows."""
        return [] if self._executed is None else self._executed.rows

    async def close(self) -> None:
        """End, which is nothing."""

    @property
    def description(self) -> Any:
        """The columns of the rows, None for a statement that has none."""
        return None if self._executed is None else self._executed.description

    @property
    def rowcount(self) -> int:
        """How many rows were changed, -1 where that is not known."""
        return -1 if self._executed is None else self._executed.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The number of the row that was inserted last."""
        return None if self._executed is None else self._executed.lastrowid


def connect(path: str, **options: Any) -> Connection:
    """Give a connection that opens the file when it is awaited, with the options of `sqlite3.connect`."""
    connection = Connection(partial(sqlite3.connect, path, **options), _CHUNK)
    # As SQLAlchemy does with a connection of its own making: no thread keeps a process alive that wants to end.
    connection._thread.daemon = True
    return connection


def _execute(connection: sqlite3.Connection, sql: str, parameters: Any, many: bool) -> Executed:
    cursor = connection.cursor()
    try:
        (cursor.executemany if many else cursor.execute)(sql, parameters)
        return Executed(cursor)
    finally:
        cursor.close()
