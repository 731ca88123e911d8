"""Reads on PostgreSQL: look-ups by a key are answered together, the rest one by one on fixed connections.

Natural batching: while one statement is under way further look-ups gather, and the next statement answers all of
them. It adds no delay and keeps no answer: what a caller gets was read after the call. Who ask for the same share its
rows.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from domain.errors import Unavailable
from models.queries import ReadStatement
from server.database.compile import CompiledRead, compile_read, compile_unnest, is_storable
from server.database.errors import is_retryable, is_unavailable
from server.database.postgresql.connections import ReadConnection, ReadPool
from server.database.postgresql.engine import Connect

Result = TypeVar("Result")

_Lookup = tuple[object, "asyncio.Future[Any]", float]
"""Somebody who waits: the value, the answer, since when. A bare tuple, because each request makes one."""

_LARGEST = 500
"""Look-ups that one statement answers; more wait for the next."""

_MOST_LISTS = 16
"""Lists that one statement answers: whoever has many rows keeps few others waiting."""

_ATTEMPTS = 3
"""How often a read is made that loses against somebody else (behaviour 9.1)."""

_SLICE = 500
"""Rows that become results at once: between the slices of a long list others get their turn."""

_FAREWELL = 2.0
"""Seconds given to the server to close a connection in order."""


class PostgresqlReads:
    """The `Reads` of a PostgreSQL database: two or more connections, and at most `timeout` seconds for an answer."""

    def __init__(self, connect: Connect, connections: int, timeout: float) -> None:
        self._dialect: Dialect = PGDialect_asyncpg()  # type: ignore[no-untyped-call]
        self._timeout = timeout
        self._compiled: dict[ReadStatement[Any], CompiledRead[Any]] = {}
        self._each: dict[ReadStatement[Any], CompiledRead[Any]] = {}
        self._batches: dict[ReadStatement[Any], BatchLoader[Any]] = {}
        self._lists: dict[ReadStatement[Any], BatchLoader[Any]] = {}
        self._batch_connection = ReadConnection(connect)
        self._pool = ReadPool(connect, connections - 1)
        self._closed = False

    def one(self, query: ReadStatement[Result], value: object) -> Awaitable[Result | None]:
        """Give the first row for `value`, or None. Raises Unavailable, also once it is closed."""
        if self._closed:
            raise Unavailable
        if query.key is None or not is_storable(value):
            return self._first(query, value)
        batch = self._batches.get(query)
        if batch is None:
            batch = self._batches[query] = BatchLoader(
                compile_unnest(query, self._dialect),
                partial(_fetch, self._batch_connection),
                _singles,
                largest=_LARGEST,
                timeout=self._timeout,
            )
        return batch.ask(value)

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        """Give the row of each value, by one statement of their own. Raises Unavailable, also once it is closed."""
        if self._closed:
            raise Unavailable
        compiled = self._each.get(query)
        if compiled is None:
            compiled = self._each[query] = compile_unnest(query, self._dialect)
        found = await _singles(compiled, await self._rows(compiled, list(values)))
        return [found.get(position) for position in range(1, len(values) + 1)]

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        """Give every row for `value`. Raises Unavailable, also once it is closed."""
        if self._closed:
            raise Unavailable
        if not is_storable(value):
            return []
        if query.key is not None:
            # A list of one's own, although the rows may be those of others, too.
            return list(await self._list_batch(query).ask(value) or ())
        compiled = self._compiled.get(query)
        if compiled is None:
            compiled = self._compiled[query] = compile_read(query, self._dialect)
        return await _results(compiled, await self._rows(compiled, value))

    async def _rows(self, compiled: CompiledRead[Any], value: object) -> list[Any]:
        """Give the rows for what a plan wants. Raises Unavailable."""
        try:
            deadline = time.monotonic() + self._timeout
            return await self._fetch_anywhere(compiled, compiled.arguments(value), deadline)
        except Exception as error:
            if _is_outage(error):
                raise Unavailable from error
            raise

    def _list_batch(self, query: ReadStatement[Result]) -> "BatchLoader[list[Result]]":
        batch = self._lists.get(query)
        if batch is None:
            batch = self._lists[query] = BatchLoader(
                compile_unnest(query, self._dialect),
                self._fetch_anywhere,
                _lists,
                largest=_MOST_LISTS,
                timeout=self._timeout,
            )
        return batch

    async def _fetch_anywhere(
        self, compiled: CompiledRead[Any], arguments: tuple[object, ...], deadline: float
    ) -> list[Any]:
        async with self._pool.acquire(deadline) as connection:
            return await _fetch(connection, compiled, arguments, deadline)

    async def _first(self, query: ReadStatement[Result], value: object) -> Result | None:
        found = await self.all(query, value)
        return found[0] if found else None

    async def close(self) -> None:
        """Close the connections; whoever still waits gets Unavailable."""
        self._closed = True
        for batch in (*self._batches.values(), *self._lists.values()):
            await batch.close()
        await asyncio.gather(self._batch_connection.close(_FAREWELL), self._pool.close(_FAREWELL))


class BatchLoader(Generic[Result]):
    """The look-ups of one query, and the task that answers them as long as there are any."""

    def __init__(
        self,
        compiled: CompiledRead[Any],
        fetch: Callable[[CompiledRead[Any], tuple[object, ...], float], Awaitable[Sequence[Any]]],
        collect: Callable[[CompiledRead[Any], Sequence[Any]], Awaitable[Mapping[int, Result]]],
        *,
        largest: int,
        timeout: float,
    ) -> None:
        """Take a plan for many values, what fetches its rows until a deadline, and what makes answers of them, by the
        position, from 1, of the value; `largest` is the number of look-ups that one statement answers."""
        self._compiled = compiled
        self._fetch = fetch
        self._collect = collect
        self._largest = largest
        self._timeout = timeout
        self._waiting: list[_Lookup] = []
        self._task: asyncio.Task[None] | None = None

    def ask(self, value: object) -> "asyncio.Future[Result | None]":
        """Give the future answer for one value."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result | None] = loop.create_future()
        self._waiting.append((value, answer, time.monotonic()))
        if self._task is None:
            self._task = loop.create_task(self._serve())
        return answer

    async def close(self) -> None:
        """Stop; who waits gets Unavailable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        # A task that is cancelled before its first step has told nobody.
        self._abandon()

    async def _serve(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
                await self._answer([lookup for lookup in asked if not lookup[1].done()])
        finally:
            self._task = None
            self._abandon()

    def _abandon(self) -> None:
        waiting, self._waiting = self._waiting, []
        _fail(waiting, Unavailable())

    async def _answer(self, asked: Sequence[_Lookup]) -> None:
        if not asked:
            return
        try:
            # The first has waited longest; as its limit holds for all, nobody waits longer than allowed.
            _, _, since = asked[0]
            values = list({value: None for value, _, _ in asked})
            rows = await self._fetch(self._compiled, self._compiled.arguments(values), since + self._timeout)
            answers = await self._collect(self._compiled, rows)
            found = {values[position - 1]: answer for position, answer in answers.items()}
        except BaseException as error:
            _fail(asked, error)
            if not isinstance(error, Exception):
                raise
        else:
            for value, answer, _ in asked:
                if not answer.done():
                    answer.set_result(found.get(value))


async def _fetch(
    connection: ReadConnection, compiled: CompiledRead[Any], arguments: tuple[object, ...], deadline: float
) -> list[Any]:
    """Give the rows; a read that lost against somebody else, as against a migration's locks, is made again."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await connection.fetch(compiled.sql, arguments, deadline)
        except Exception as error:
            if not is_retryable(error):
                raise
    return await connection.fetch(compiled.sql, arguments, deadline)


def _fail(asked: Sequence[_Lookup], error: BaseException) -> None:
    for _, answer, _ in asked:
        if not answer.done():
            answer.set_exception(_seen(error))


def _is_outage(error: BaseException) -> bool:
    """Whether a read failed of the database's state; a standby calls it a conflict when it must change what is read."""
    return is_unavailable(error) or is_retryable(error)  # defence: R7 lost-read


def _seen(error: BaseException) -> Exception:
    """Give what one caller is to see: a defect as it is, else an Unavailable of their own."""
    if isinstance(error, Exception) and not _is_outage(error):
        return error
    unavailable = Unavailable()  # A new one for each, as exceptions remember who raised them.
    unavailable.__cause__ = error
    return unavailable


async def _singles(prepared: CompiledRead[Result], rows: Sequence[Any]) -> dict[int, Result]:
    """Make the results of rows of which each answers another value."""
    return {row[0]: prepared.result(row[1:]) for row in rows}


async def _lists(prepared: CompiledRead[Result], rows: Sequence[Any]) -> dict[int, list[Result]]:
    """Make lists, in the order of the rows; others get their turn between many of them."""
    found: defaultdict[int, list[Result]] = defaultdict(list)
    for number, row in enumerate(rows, 1):
        found[row[0]].append(prepared.result(row[1:]))
        if number % _SLICE == 0:
            await asyncio.sleep(0)
    return found


async def _results(prepared: CompiledRead[Result], rows: Sequence[Any]) -> list[Result]:
    """Make the results; of a long list some at a time, so that others get their turn between them."""
    found: list[Result] = []
    for start in range(0, len(rows), _SLICE):
        if start:
            await asyncio.sleep(0)
        found += [prepared.result(row) for row in rows[start : start + _SLICE]]
    return found
