"""Reads on SQLite: on the event loop where they take microseconds, in a thread where they may take longer.

A point read takes about 20 µs, less than the way to a thread and back. It does not wait there: when somebody holds the
lock (rare, readers and writers do not disturb each other in WAL mode), or when a list is long, a thread asks again.
"""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from domain.errors import Unavailable
from models.queries import Query
from server.database_faults import is_busy, is_unavailable
from server.reads.plans import Plan, is_storable, plan

Result = TypeVar("Result")

_LONG = 100
"""Rows; a longer list is read and decoded in the thread."""


class SqliteReads:
    """The `Reads` of a SQLite file that exists; a read waits at most `timeout` seconds for the lock."""

    def __init__(self, path: str, timeout: float) -> None:
        self._dialect = SQLiteDialect_pysqlite()
        self._plans: dict[Query[Any], Plan[Any]] = {}
        self._timeout = timeout
        self._here = _Connection(path, 0)
        self._there = _Connection(path, timeout)
        self._thread = ThreadPoolExecutor(1, "sqlite-reads")

    async def one(self, query: Query[Result], value: object) -> Result | None:
        """Give the first row for `value`, or None. Raises Unavailable."""
        found = await self._fetch(query, value, 1)
        return found[0] if found else None

    async def all(self, query: Query[Result], value: object) -> list[Result]:
        """Give every row for `value`. Raises Unavailable."""
        return await self._fetch(query, value, None)

    async def close(self) -> None:
        """Close the connections; a read under way in the thread ends first."""
        self._here.close()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._there.close)
        self._thread.shutdown()

    async def _fetch(self, query: Query[Result], value: object, limit: int | None) -> list[Result]:
        prepared = self._plans.get(query)
        if prepared is None:
            prepared = self._plans[query] = plan(query, self._dialect)
        if not is_storable(value):
            return []
        arguments = prepared.arguments(value)
        try:
            rows = self._here.fetch(prepared.sql, arguments, limit or _LONG + 1)
        except sqlite3.Error as error:
            if not is_busy(error):
                if is_unavailable(error):
                    raise Unavailable from error
                raise
        else:
            if limit or len(rows) <= _LONG:
                return [prepared.result(row) for row in rows]
        return await self._fetch_in_thread(prepared, arguments, limit)

    async def _fetch_in_thread(
        self, prepared: Plan[Result], arguments: tuple[object, ...], limit: int | None
    ) -> list[Result]:
        def work() -> list[Result]:
            return [prepared.result(row) for row in self._there.fetch(prepared.sql, arguments, limit or -1)]

        try:
            # The limit holds for those, too, who wait for the thread.
            async with asyncio.timeout(self._timeout):
                return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, TimeoutError) as error:
            if is_unavailable(error):
                raise Unavailable from error
            raise


class _Connection:
    """A connection that is opened when needed, by the thread that uses it, and dropped after a fault."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._connection: sqlite3.Connection | None = None

    def fetch(self, sql: str, arguments: tuple[object, ...], limit: int) -> list[tuple[Any, ...]]:
        """Give the first `limit` rows, or all of them (-1), as they are when the call is made."""
        try:
            connection = self._connection or self._open()
            cursor = connection.execute(sql, arguments)
            try:
                return cursor.fetchall() if limit < 0 else cursor.fetchmany(limit)
            finally:
                # An unfinished statement would keep its view of the database, and every later read would share it.
                cursor.close()
        except sqlite3.Error as error:
            if not is_busy(error):
                self.close()
            raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # Not read-only: when a writer was killed, whoever comes next has to be able to recover the write-ahead log.
        uri = "file:" + self._path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=rw"
        self._connection = sqlite3.connect(uri, uri=True, timeout=self._busy_timeout, isolation_level=None)
        self._connection.execute("PRAGMA query_only = ON").close()
        return self._connection
