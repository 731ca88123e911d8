"""SQLite's connection for writing: one way to its thread and back for each statement, where aiosqlite takes four.

While the thread has nothing to do, what takes microseconds and cannot wait may be done without it, on the event loop.
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import aiosqlite

_CHUNK = 64
"""Rows that aiosqlite would fetch at a time; nothing here is fetched in parts."""

Row = tuple[Any, ...]


class Connection(aiosqlite.Connection):
    """aiosqlite's connection, with cursors of ours, and with a few things that are done at once."""

    _asked = 0
    """Jobs that the thread was given; the event loop counts them."""
    _done = 0
    """Those it has finished; the thread counts them. One may still run whose caller has left."""
    _is_hasty = False
    """Whether the connection waits for no lock, as it was told last."""

    def cursor(self) -> "Cursor":  # type: ignore[override]
        """Give a cursor, which costs nothing until it executes something."""
        return Cursor(self)

    async def execute_whole(self, sql: str, parameters: Any, *, many: bool) -> "Executed":
        """Execute a statement, once or for each of many parameters, and give everything there is to know of it."""
        executed: Executed = await self._execute(_execute, self._conn, sql, parameters, many)
        return executed

    def begin_at_once(self) -> bool:
        """Begin a transaction with the lock for writing, if nobody else has it; say whether it has begun."""
        if self._is_busy:
            return False
        try:
            _begin(self._conn, None if self._is_hasty else 0)
            self._is_hasty = True
        except sqlite3.Error:
            # Somebody has the lock, or there is a fault, which whoever waits for it in the thread will meet, too.
            return False
        return True

    async def begin(self, within: float, *, reads_only: bool = False) -> None:
        """Begin a transaction with the lock for writing, or only to read, waiting for locks `within` seconds.

        Raises what sqlite3 raises.
        """
        self._is_hasty = False
        await self._execute(_begin, self._conn, within, "DEFERRED" if reads_only else "IMMEDIATE")

    async def run(self, sql: str, parameters: tuple[object, ...]) -> list[Row]:
        """Execute within a transaction what takes microseconds; give its rows. Raises what sqlite3 raises."""
        if self._is_busy:
            return (await self.execute_whole(sql, parameters, many=False)).rows
        return _execute(self._conn, sql, parameters, many=False).rows

    def undo(self) -> None:
        """End the transaction, if there still is one, without what it wrote; nobody waits for that."""
        if self._is_busy:
            self._asked += 1
            self._tx.put_nowait((None, partial(self._work, _undo, self._conn)))
        else:
            _undo(self._conn)

    @property
    def _is_busy(self) -> bool:
        return self._asked != self._done

    async def _execute(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        self._asked += 1
        return await super()._execute(self._work, fn, *args, **kwargs)  # type: ignore[no-untyped-call]

    def _work(self, job: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return job(*arguments, **named)
        finally:
            self._done += 1


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
    # Two threads use it, never at the same time.
    connector = partial(sqlite3.connect, path, **{**options, "check_same_thread": False})
    connection = Connection(connector, _CHUNK)
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


# defence: R6 begin-immediate
def _begin(connection: sqlite3.Connection, within: float | None, kind: str = "IMMEDIATE") -> None:
    """Begin, waiting `within` seconds for the lock; None for as long as last time."""
    # Whoever had the connection before has left it in order, or was cancelled.
    _undo(connection)
    if within is not None:
        connection.execute(f"PRAGMA busy_timeout = {int(within * 1000)}").close()  # defence: R5 busy-timeout
    connection.execute(f"BEGIN {kind}").close()


def _undo(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.rollback()
