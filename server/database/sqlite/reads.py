"""Reads on SQLite: on the event loop if they take microseconds, in a thread if they may take longer.

A point read takes about 20 µs, less than a hop to a thread. It never waits on the event loop: if a writer holds the
lock (which is rare in WAL mode), or if a list is long, the read is repeated in a thread.

Look-ups by a unique key in one iteration of the event loop are combined into one statement at its end. Most of the
20 µs is the call of SQLite and its lock, which they then share; callers with the same key share the row. Every caller
gets a row that was read after its call. After an error each look-up is repeated separately, in the thread if it has to
wait.
"""

import asyncio
import math
import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from domain.errors import Unavailable
from models.queries import ReadStatement
from server.database.batch import both
from server.database.compile import (
    CompiledStatement,
    compile_in_list,
    compile_read,
    is_storable,
    json_decoder,
)
from server.database.errors import is_busy, is_unavailable

Result = TypeVar("Result")
Other = TypeVar("Other")

_Lookup = tuple[ReadStatement[Any], object, "asyncio.Future[Any]"]
"""A caller that waits for one row: query, value, future. A plain tuple, because each request creates one."""

_LARGEST = 32
"""Maximum number of look-ups in one statement. Only powers of two are compiled, so that there are few statements."""

_LONG = 100
"""Rows above which a list is read and decoded in the thread."""


class SqliteReads:
    """The `Reads` of an existing SQLite file; a read waits at most `timeout` seconds for the lock."""

    def __init__(self, path: str, timeout: float) -> None:
        dialect = SQLiteDialect_pysqlite()
        self._compiled = cache(partial(compile_read, dialect=dialect))
        self._in_list = cache(partial(compile_in_list, dialect=dialect))
        self._decoder = cache(partial(json_decoder, dialect=dialect))
        self._timeout = timeout
        self._here = _Connection(path, 0)
        self._there = _Connection(path, timeout)
        self._thread = ThreadPoolExecutor(1, "sqlite-reads")
        # Not a Batcher: its task and clock cost 1.7 µs of a look-up alone, which takes 8, and save four lines.
        self._waiting: list[_Lookup] = []
        self._is_closed = False
        self._repeating: set[asyncio.Task[None]] = set()

    def one(self, query: ReadStatement[Result], value: object) -> Awaitable[Result | None]:
        """Return the first row for `value`, or None. Raises Unavailable, also after `close`."""
        if self._is_closed:
            raise Unavailable
        if query.key is not None and is_storable(value):
            return self._ask(query, value)
        return self._first(query, value)

    def two(
        self, first: ReadStatement[Result], value: object, second: ReadStatement[Other], other: object
    ) -> Awaitable[tuple[Result | None, Other | None]]:
        """Return the first row of `first` for `value` and that of `second` for `other`; None for a missing row.

        Raises Unavailable, also after `close`.
        """
        # Begun together, so that they wait for the same iteration of the event loop.
        one, another = self.one(first, value), self.one(second, other)
        return both(one, another)

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        """Return the row of each value in their order, by one statement of its own; None for a missing row.

        Raises Unavailable, also after `close`.
        """
        if self._is_closed:
            raise Unavailable
        try:
            results = self._look_up(query, list(values))
        except Exception:
            # A writer may hold the lock, or there is a fault, which each single read will report.
            results = {value: await self._first(query, value) for value in values}
        return [results.get(value) for value in values]

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        """Return all rows for `value`. Raises Unavailable, also after `close`."""
        if self._is_closed:
            raise Unavailable
        return await self._fetch(query, value, None)

    async def close(self) -> None:
        """Close the connections after the running read."""
        self._is_closed = True
        self._answer_all()
        await asyncio.gather(*self._repeating)
        self._here.close()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._there.close)
        self._thread.shutdown()

    def _ask(self, query: ReadStatement[Result], value: object) -> "asyncio.Future[Result | None]":
        """Return the future of a look-up that runs at the end of this iteration of the event loop."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._answer_all)
        answer: asyncio.Future[Result | None] = loop.create_future()
        self._waiting.append((query, value, answer))
        return answer

    def _answer_all(self) -> None:
        asked, self._waiting = self._waiting, []
        together: defaultdict[ReadStatement[Any], list[_Lookup]] = defaultdict(list)
        for lookup in asked:
            if not lookup[2].done():
                together[lookup[0]].append(lookup)
        for query, lookups in together.items():
            for start in range(0, len(lookups), _LARGEST):
                self._answer(query, lookups[start : start + _LARGEST])

    def _answer(self, query: ReadStatement[Any], lookups: Sequence[_Lookup]) -> None:
        # Each value once: the requests of an application look its client up together.
        values = list(dict.fromkeys([value for _, value, _ in lookups]))
        try:
            results = self._look_up(query, values)
        except Exception:
            self._ask_again(lookups)
        else:
            for _, value, answer in lookups:
                answer.set_result(results.get(value))

    def _look_up(self, query: ReadStatement[Any], values: list[object]) -> dict[object, Any]:
        """Return the results by value; all are read in one snapshot."""
        # The statement may have more parameters than there are values; the last value is repeated.
        count = 1 << math.ceil(math.log2(len(values)))
        result = self._decoder(query)
        rows = self._here.fetch(
            self._in_list(query, count=count), values + values[-1:] * (count - len(values)), -1
        )
        return {row[0]: result(row[1:]) for row in rows}

    def _ask_again(self, lookups: Sequence[_Lookup]) -> None:
        for lookup in lookups:
            task = asyncio.create_task(self._repeat(*lookup))
            self._repeating.add(task)
            task.add_done_callback(self._repeating.discard)

    async def _repeat(self, query: ReadStatement[Any], value: object, answer: "asyncio.Future[Any]") -> None:
        try:
            result = await self._first(query, value)
        except Exception as fault:
            if not answer.done():
                answer.set_exception(fault)
        else:
            if not answer.done():
                answer.set_result(result)

    async def _first(self, query: ReadStatement[Result], value: object) -> Result | None:
        rows = await self._fetch(query, value, 1)
        return rows[0] if rows else None

    async def _fetch(self, query: ReadStatement[Result], value: object, limit: int | None) -> list[Result]:
        compiled: CompiledStatement[Result] = self._compiled(query)
        if not is_storable(value):
            return []
        arguments = compiled.arguments({"value": value})
        try:
            # One row more than the bound shows that the list is longer.
            rows = self._here.fetch(compiled.sql, arguments, limit or _LONG + 1)
        except sqlite3.Error as error:
            if not is_busy(error):
                if is_unavailable(error):
                    raise Unavailable from error
                raise
        else:
            if limit or len(rows) <= _LONG:
                return [compiled.result(row) for row in rows]
        return await self._fetch_in_thread(compiled, arguments, limit)

    async def _fetch_in_thread(
        self, compiled: CompiledStatement[Result], arguments: tuple[object, ...], limit: int | None
    ) -> list[Result]:
        def work() -> list[Result]:
            return [compiled.result(row) for row in self._there.fetch(compiled.sql, arguments, limit or -1)]

        try:
            # The timeout includes the wait for the thread.
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

    def fetch(self, sql: str, arguments: Sequence[object], limit: int) -> list[tuple[Any, ...]]:
        """Return the first `limit` rows, or all (-1), as of the time of the call."""
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
        # Not read-only: after a writer was killed, the next connection has to recover the write-ahead log.
        uri = "file:" + self._path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=rw"
        self._connection = sqlite3.connect(uri, uri=True, timeout=self._busy_timeout, isolation_level=None)
        self._connection.execute("PRAGMA query_only = ON").close()
        return self._connection
