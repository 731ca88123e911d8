"""Fixed PostgreSQL connections for reading: each serves one statement at a time, and keeps its statements prepared.

Instants of a session come again with each of its requests, so the last ones are remembered, and the driver does not
make each of them again.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from server.database.postgresql.engine import FAULTS, Connect, Driver

_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)


class ReadConnection:
    """One connection, opened when needed, dropped after any fault, so that the next statement starts afresh."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Driver | None = None
        self._is_closed = False
        self._statements: dict[str, Any] = {}
        self._turn = asyncio.Lock()

    async def fetch(self, sql: str, arguments: tuple[object, ...], deadline: float) -> list[Any]:
        """Run one statement, connecting first where needed; all of it ends at `deadline` (monotonic seconds).

        Raises what asyncpg raises, OSError and TimeoutError; ConnectionError once it is closed.
        """
        async with self._turn:
            _seconds_to(deadline)
            try:
                return await self._fetch(sql, arguments, deadline)
            except BaseException:
                self.drop()
                raise

    def drop(self) -> None:
        """Cut the connection, if there is one, without a word: it may be one that nobody listens to any more."""
        connection, self._connection = self._connection, None
        self._statements.clear()
        if connection is not None:
            connection.terminate()

    async def close(self, within: float) -> None:
        """Say good-bye, for at most `within` seconds; nothing is read here from now on."""
        self._is_closed = True
        if self._connection is not None and not self._connection.is_closed():
            try:
                await self._connection.close(timeout=within)
            except FAULTS:
                self._connection.terminate()
        self._connection = None

    async def _fetch(self, sql: str, arguments: tuple[object, ...], deadline: float) -> list[Any]:
        if self._connection is None or self._connection.is_closed():
            await self._open(deadline)
        statement = self._statements.get(sql) or await self._prepare(sql, deadline)
        # defence: R3 read-timeout
        rows: list[Any] = await statement.fetch(*arguments, timeout=_seconds_to(deadline))
        return rows

    async def _open(self, deadline: float) -> None:
        self._statements.clear()
        if not self._is_closed:
            self._connection = await self._connect(_seconds_to(deadline))
        # The end may have come while it connected; whoever fails here drops the connection.
        if self._connection is None or self._is_closed:
            raise ConnectionError("the read connection is closed")
        await decode_timestamps(self._connection)

    async def _prepare(self, sql: str, deadline: float) -> Any:
        assert self._connection is not None  # noqa: S101
        statement = await self._connection.prepare(sql, timeout=_seconds_to(deadline))
        self._statements[sql] = statement
        return statement


class ReadPool:
    """A pool of a few read connections: last used first out, callers wait first come first served."""

    def __init__(self, connect: Connect, count: int) -> None:
        self._all = [ReadConnection(connect) for _ in range(count)]
        self._free = list(self._all)
        # A queue would let new callers take a connection before those it has just woken, which could then starve.
        self._permits = asyncio.Semaphore(count)

    @asynccontextmanager
    async def acquire(self, deadline: float) -> AsyncIterator[ReadConnection]:
        """Yield a connection; raises TimeoutError when none is free before `deadline`."""
        seconds = _seconds_to(deadline)
        if self._permits.locked():
            async with asyncio.timeout(seconds):
                await self._permits.acquire()
        else:
            await self._permits.acquire()
        connection = self._free.pop()
        try:
            yield connection
        finally:
            self._free.append(connection)
            self._permits.release()

    async def close(self, within: float) -> None:
        """Close them all, for at most `within` seconds."""
        await asyncio.gather(*(connection.close(within) for connection in self._all))


def _seconds_to(deadline: float) -> float:
    """Give the seconds left, which are more than none; raises TimeoutError."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


async def decode_timestamps(connection: Driver) -> None:
    """Let a connection decode its instants here; the server is not asked anything for that."""
    await connection.set_type_codec(
        "timestamptz",
        schema="pg_catalog",
        format="tuple",
        encoder=_encode_timestamp,
        decoder=_decode_timestamp,
    )


@lru_cache(maxsize=4096)
def _decode_timestamp(sent: tuple[int]) -> datetime:
    """Return the instant so many microseconds after the beginning of the year 2000, as PostgreSQL counts them.

    What no calendar has, such as its `infinity`, is the last or the first instant there is.
    """
    try:
        return _ZERO + sent[0] * _MICROSECOND
    except OverflowError:
        return _LAST if sent[0] > 0 else _FIRST


def _encode_timestamp(moment: datetime) -> tuple[int]:
    """Return an instant as PostgreSQL wants it."""
    return ((moment - _ZERO) // _MICROSECOND,)
