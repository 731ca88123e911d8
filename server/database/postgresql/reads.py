"""Reads on PostgreSQL: look-ups by a key are batched, all other reads run one by one on fixed connections.

Look-ups that arrive while a statement is running are combined into the next statement. Results are not cached: they are
read after the call. Callers that look up the same value share the rows.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeVar

from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect

from domain.errors import Unavailable
from models.queries import ReadStatement
from server.database.batch import both
from server.database.compile import (
    CompiledStatement,
    compile_read,
    compile_two,
    compile_unnest,
    is_storable,
    read_decoder,
)
from server.database.pool import Pool
from server.database.postgresql.batch_loader import BatchLoader, fetch, is_outage
from server.database.postgresql.engine import Connect, Driver, decode_timestamps

Result = TypeVar("Result")
Other = TypeVar("Other")

_LARGEST = 500
"""Maximum number of look-ups in one statement; further ones wait for the next."""

_MOST_LISTS = 16
"""Maximum number of lists in one statement, so that a caller with many rows delays few other callers."""

_SLICE = 500
"""Rows that are decoded at once; other requests run between the slices of a long list."""

_CLOSE_TIMEOUT = 2.0
"""Timeout in seconds for closing a connection gracefully."""


_SESSIONS_WITHIN = 0.5
"""Timeout in seconds of the query for the server's sessions, short because the old server may not respond."""

# After a failover a session of the new server may have the same PID, but it began after the commit was sent.
_SESSIONS = """
SELECT pid FROM pg_stat_activity JOIN unnest($1::int[], $2::float8[]) AS held (pid, age) USING (pid)
WHERE usename = current_user AND backend_start <= clock_timestamp() - make_interval(secs => held.age)
"""


class PostgresqlReads:
    """The `Reads` of a PostgreSQL database, on two or more connections; `timeout` is in seconds."""

    def __init__(self, connect: Connect, connections: int, timeout: float) -> None:
        async def open_(within: float) -> Driver:
            opened = await connect(within)
            await decode_timestamps(opened)
            return opened

        self._dialect = asyncpg_dialect()
        self._timeout = timeout
        self._compiled = cache(partial(compile_read, dialect=self._dialect))
        self._batches: dict[ReadStatement[Any], BatchLoader[Any]] = {}
        self._lists: dict[ReadStatement[Any], BatchLoader[Any]] = {}
        self._twos: dict[tuple[ReadStatement[Any], ReadStatement[Any]], BatchLoader[Any]] = {}
        # One connection for batches: with more, look-ups would spread over several small statements.
        self._batch_pool = Pool(open_, 1)
        self._pool = Pool(open_, connections - 1)
        self._closed = False

    def one(self, query: ReadStatement[Result], value: object) -> Awaitable[Result | None]:
        """Return the first row for `value`, or None. Raises Unavailable, also after `close`."""
        if self._closed:
            raise Unavailable
        if query.key is None or not is_storable(value):  # defence: R32 stored-text
            return self._first(query, value)
        return self._batch(query).submit(value)

    async def two(
        self, first: ReadStatement[Result], value: object, second: ReadStatement[Other], other: object
    ) -> tuple[Result | None, Other | None]:
        """Return the first row of `first` for `value` and that of `second` for `other`; None for a missing row.

        Both are read by one statement. Raises Unavailable, also after `close`.
        """
        if self._closed:
            raise Unavailable
        if not (is_storable(value) and is_storable(other)):
            one, another = self.one(first, value), self.one(second, other)
            return await both(one, another)
        return await self._batch_of_two(first, second).submit((value, other)) or (None, None)

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        """Return the row of each value in their order, by one statement of its own; None for a missing row.

        Raises Unavailable, also after `close`.
        """
        if self._closed:
            raise Unavailable
        batch = self._batch(query)
        results = await batch.collect(await self._rows(batch.compiled, list(values)))
        return [results.get(position) for position in range(1, len(values) + 1)]

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        """Return all rows for `value`. Raises Unavailable, also after `close`."""
        if self._closed:
            raise Unavailable
        if not is_storable(value):
            return []
        if query.key is not None:
            # A copy, because callers with the same value share the result.
            return list(await self._list_batch(query).submit(value) or ())
        compiled = self._compiled(query)
        return await _results(compiled.result, await self._rows(compiled, value))

    async def lost_sessions(self, connections: Mapping[Driver, float]) -> list[Driver]:
        """Return the connections whose session does not exist on the server that now has the database's address.

        `connections` has the seconds since the commit on each connection was sent. Returns none if the server does not
        respond.
        """
        pids = {each.get_server_pid(): each for each in connections if not each.is_closed()}
        ages = [connections[each] for each in pids.values()]
        try:
            connection = await self._pool.acquire(time.monotonic() + _SESSIONS_WITHIN)
            try:
                rows = await connection.fetch(_SESSIONS, [*pids], ages, timeout=_SESSIONS_WITHIN)
            finally:
                # Dropped, so that the next check connects to the server that the address then leads to.
                self._pool.release(connection, drop=True)
        except Exception as error:
            if not is_outage(error):
                raise
            return []
        alive = {row[0] for row in rows}
        return [connection for pid, connection in pids.items() if pid not in alive]

    async def close(self) -> None:
        """Close the connections; running reads raise Unavailable."""
        self._closed = True
        for batch in (*self._batches.values(), *self._lists.values(), *self._twos.values()):
            await batch.close()
        await asyncio.gather(self._batch_pool.close(_CLOSE_TIMEOUT), self._pool.close(_CLOSE_TIMEOUT))

    def _batch(self, query: ReadStatement[Result]) -> BatchLoader[Result]:
        batch = self._batches.get(query)
        if batch is None:
            result = read_decoder(query, self._dialect)

            async def singles(rows: Sequence[Any]) -> dict[int, Result]:
                return {row[0]: result(row[1:]) for row in rows}

            compiled = compile_unnest(query, self._dialect)
            batch = BatchLoader(compiled, self._batch_pool, singles, largest=_LARGEST, timeout=self._timeout)
            self._batches[query] = batch
        return batch

    def _batch_of_two(
        self, first: ReadStatement[Result], second: ReadStatement[Other]
    ) -> BatchLoader[tuple[Result | None, Other | None]]:
        batch = self._twos.get((first, second))
        if batch is None:
            results = read_decoder(first, self._dialect), read_decoder(second, self._dialect)
            end = 2 + len(first.statement.selected_columns)

            async def pairs(rows: Sequence[Any]) -> dict[int, tuple[Any, Any]]:
                return {
                    row[0]: (
                        results[0](row[2:end]) if row[1] else None,
                        results[1](row[end + 1 :]) if row[end] else None,
                    )
                    for row in rows
                }

            compiled = compile_two(first, second, self._dialect)
            batch = BatchLoader(
                compiled, self._batch_pool, pairs, largest=_LARGEST, timeout=self._timeout, arguments=_of_two
            )
            self._twos[first, second] = batch
        return batch

    def _list_batch(self, query: ReadStatement[Result]) -> BatchLoader[list[Result]]:
        batch = self._lists.get(query)
        if batch is None:
            result = read_decoder(query, self._dialect)

            async def lists(rows: Sequence[Any]) -> dict[int, list[Result]]:
                rows_by_position: defaultdict[int, list[Result]] = defaultdict(list)
                for number, row in enumerate(rows, 1):
                    rows_by_position[row[0]].append(result(row[1:]))
                    if number % _SLICE == 0:
                        await asyncio.sleep(0)
                return rows_by_position

            compiled = compile_unnest(query, self._dialect)
            batch = BatchLoader(compiled, self._pool, lists, largest=_MOST_LISTS, timeout=self._timeout)
            self._lists[query] = batch
        return batch

    async def _rows(self, compiled: CompiledStatement[Any], value: object) -> list[Any]:
        try:
            return await fetch(self._pool, compiled, {"value": value}, time.monotonic() + self._timeout)
        except Exception as error:
            if is_outage(error):
                raise Unavailable from error
            raise

    async def _first(self, query: ReadStatement[Result], value: object) -> Result | None:
        rows = await self.all(query, value)
        return rows[0] if rows else None


def _of_two(pairs: Sequence[tuple[object, object]]) -> Mapping[str, object]:
    return {"value": [value for value, _ in pairs], "other": [other for _, other in pairs]}


async def _results(result: Callable[[Any], Result], rows: Sequence[Any]) -> list[Result]:
    """Decode rows in slices, so that other requests run in between."""
    results: list[Result] = []
    for start in range(0, len(rows), _SLICE):
        if start:
            await asyncio.sleep(0)
        results += [result(row) for row in rows[start : start + _SLICE]]
    return results
