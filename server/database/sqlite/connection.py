"""SQLite's connection for writing, with a thread of its own for operations that wait.

While the thread is idle, operations that take microseconds and cannot wait run on the event loop.
"""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError

from server.database.compile import Row, named
from server.database.pool import Pool

Result = TypeVar("Result")

_PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "foreign_keys = ON",
    # In KiB; SQLite's default is 2,000. The operating system caches the file as well.
    "cache_size = -512",
)


class Connection:
    """A connection; its statements may run on the event loop or in the thread, never at the same time."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread
        self._job: Future[Any] | None = None
        """The thread's last job, which may still run after its caller was cancelled."""
        self._changes = 0
        """The number of changed rows on this connection when its transaction began."""
        self._is_closed = False

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction has begun."""
        return self._connection.in_transaction

    def begin_at_once(self) -> bool:
        """Begin a transaction if the write lock is free; return whether it has begun."""
        if self._is_busy:
            return False
        try:
            _begin(self._connection, 0)
        except sqlite3.Error:
            # The lock is held, or there is a fault, which the caller will see again when it waits in the thread.
            return False
        self._changes = self._connection.total_changes
        return True

    async def begin(self, within: float, *, mode: str = "IMMEDIATE") -> None:
        """Begin a transaction; wait at most `within` seconds for locks. Raises the errors of sqlite3."""
        await self._run(_begin, self._connection, within, mode)
        self._changes = self._connection.total_changes

    async def fetch(
        self, sql: str, arguments: Sequence[object], *, names: bool = False, in_thread: bool = False
    ) -> list[Row]:
        """Execute a statement within a transaction; return its rows.

        With `names` each row is a named tuple; with `in_thread` the statement runs in the thread. Raises SQLAlchemy's
        IntegrityError, and the other errors of sqlite3.
        """
        try:
            if in_thread or self._is_busy:
                return await self._run(_execute, self._connection, sql, arguments, names)
            return _execute(self._connection, sql, arguments, names)
        except sqlite3.IntegrityError as error:
            raise IntegrityError(sql, None, error, hide_parameters=True) from error

    async def fetch_many(self, sql: str, arguments: Sequence[Sequence[object]]) -> None:
        """Execute a statement in the thread, once for each set of arguments.

        Raises SQLAlchemy's IntegrityError, and the other errors of sqlite3.
        """
        try:
            await self._run(_execute_many, self._connection, sql, arguments)
        except sqlite3.IntegrityError as error:
            raise IntegrityError(sql, None, error, hide_parameters=True) from error

    async def commit(self) -> None:
        """Commit, in the thread if changes must be written to the disk. Raises the errors of sqlite3."""
        if self._is_busy or self._connection.total_changes != self._changes:
            await self._run(self._connection.commit)
        else:
            # Nothing is written, and the hop to the thread would be a tenth of the time of the account page.
            self._connection.commit()

    def undo(self) -> None:
        """Roll back the transaction, if it is still open, without waiting for the result."""
        if self._is_busy:
            self._job = self._thread.submit(_undo, self._connection)
        else:
            _undo(self._connection)

    def interrupt(self) -> None:
        """Make the statement that runs in the thread, if any, fail."""
        self._connection.interrupt()

    def is_closed(self) -> bool:
        """Return whether the connection was closed."""
        return self._is_closed

    def terminate(self) -> None:
        """Close the connection after the running statement, without waiting for it."""
        if not self._is_closed:
            self._is_closed = True
            self._thread.submit(self._connection.close)
            self._thread.shutdown(wait=False)

    async def close(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as the pool calls it
        """Close the connection after the running statement; the write lock and the files are then released."""
        if not self._is_closed:
            self._is_closed = True
            await self._run(self._connection.close)
            self._thread.shutdown()

    @property
    def _is_busy(self) -> bool:
        return self._job is not None and not self._job.done()

    async def _run(self, job: Callable[..., Result], *arguments: object) -> Result:
        self._job = running = self._thread.submit(job, *arguments)
        return await asyncio.wrap_future(running)


async def connect(path: str, within: float) -> Connection:
    """Open the database file, and create it if it does not exist. Raises the errors of sqlite3."""
    thread = ThreadPoolExecutor(1, "sqlite-writer")
    loop = asyncio.get_running_loop()
    try:
        opened = await loop.run_in_executor(thread, _open, path, within)
    except BaseException:
        thread.shutdown(wait=False)
        raise
    return Connection(opened, thread)


async def acquire_begun(pool: Pool[Connection], deadline: float) -> Connection:
    """Acquire the connection of a pool, begin a transaction with the write lock, and return the connection.

    Raises TimeoutError or the errors of sqlite3 if that is not possible before the deadline (`time.monotonic`).
    """
    connection = await pool.acquire(deadline)
    try:
        if not connection.begin_at_once():
            # The time spent in the pool's queue is deducted from the wait for SQLite's lock.
            await connection.begin(max(0.0, deadline - time.monotonic()))
    except BaseException:
        release(pool, connection)
        raise
    return connection


def release(pool: Pool[Connection], connection: Connection) -> None:
    """Roll back uncommitted changes, and return the connection to the pool."""
    try:
        connection.undo()
    except sqlite3.Error:
        pool.release(connection, drop=True)
    else:
        pool.release(connection)


def prepare(connection: sqlite3.Connection) -> None:
    """Define the functions and set the pragmas that every writing connection needs."""
    # SQLite's own `lower` handles ASCII only; a search must return the same on both databases.
    connection.create_function("lower", 1, _lower, deterministic=True)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def keep_private(path: str) -> None:
    """Create the database file with mode 0600 if it does not exist. Errors are ignored: opening the file reports them.

    SQLite creates the files next to it (such as the write-ahead log) with the same mode.
    """
    # O_EXCL: an existing file is not opened, because closing it would drop the locks of all connections that this
    # process has to it (POSIX), and another process would then delete the write-ahead log that is in use.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _open(path: str, within: float) -> sqlite3.Connection:
    keep_private(path)
    # Two threads use the connection, but never at the same time.
    connection = sqlite3.connect(path, timeout=within, isolation_level=None, check_same_thread=False)
    try:
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _execute(connection: sqlite3.Connection, sql: str, arguments: Sequence[object], names: bool) -> list[Row]:
    cursor = connection.execute(sql, arguments)
    try:
        rows: list[Row] = cursor.fetchall()
        return [*map(named(column[0] for column in cursor.description), rows)] if names and rows else rows
    finally:
        cursor.close()


def _execute_many(connection: sqlite3.Connection, sql: str, arguments: Sequence[Sequence[object]]) -> None:
    connection.executemany(sql, arguments).close()


# defence: R6 begin-immediate
def _begin(connection: sqlite3.Connection, within: float, mode: str = "IMMEDIATE") -> None:
    """Begin a transaction; wait at most `within` seconds for the lock."""
    # The previous user of the connection may have been cancelled and left a transaction open.
    _undo(connection)
    # SQLite's own timeout: another process may hold the lock, whose release no event of this process announces.
    connection.execute(f"PRAGMA busy_timeout = {int(within * 1000)}").close()  # defence: R5 busy-timeout
    # IMMEDIATE takes the write lock now. A deferred transaction that writes later fails at once if another one has
    # written since it began to read.
    connection.execute(f"BEGIN {mode}").close()


def _undo(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.rollback()
