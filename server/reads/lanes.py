"""Fixed PostgreSQL connections for reading: each serves one statement at a time, and keeps its statements prepared."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from server.postgresql_engine import Connect
from server.reads import instants


class Lane:
    """One connection, opened when needed, dropped after any fault, so that the next statement starts afresh."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: asyncpg.Connection[Any] | None = None
        self._is_closed = False
        self._statements: dict[str, Any] = {}
        self._turn = asyncio.Lock()

    async def fetch(self, sql: str, arguments: tuple[object, ...], deadline: float) -> list[Any]:
        """Run one statement, connecting first where needed; all of it ends at `deadline` (monotonic seconds).

        Raises what asyncpg raises, OSError and TimeoutError; ConnectionError once the lane is closed.
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
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                self._connection.terminate()
        self._connection = None

    async def _fetch(self, sql: str, arguments: tuple[object, ...], deadline: float) -> list[Any]:
        if self._connection is None or self._connection.is_closed():
            await self._open(deadline)
        statement = self._statements.get(sql) or await self._prepare(sql, deadline)
        rows: list[Any] = await statement.fetch(*arguments, timeout=_seconds_to(deadline))
        return rows

    async def _open(self, deadline: float) -> None:
        self._statements.clear()
        if not self._is_closed:
            self._connection = await self._connect(_seconds_to(deadline))
        # The end may have come while it connected; whoever fails here drops the connection.
        if self._connection is None or self._is_closed:
            raise ConnectionError("the lane is closed")
        await instants.remember(self._connection)

    async def _prepare(self, sql: str, deadline: float) -> Any:
        assert self._connection is not None  # noqa: S101
        statement = await self._connection.prepare(sql, timeout=_seconds_to(deadline))
        self._statements[sql] = statement
        return statement


class Lanes:
    """A few lanes; who comes takes the one used last, or waits for one in the order of coming."""

    def __init__(self, connect: Connect, count: int) -> None:
        self._all = [Lane(connect) for _ in range(count)]
        self._free = list(self._all)
        # A queue would let newcomers take a lane before those it has just woken, who could then wait for ever.
        self._places = asyncio.Semaphore(count)

    @asynccontextmanager
    async def take(self, deadline: float) -> AsyncIterator[Lane]:
        """Lend a lane; raises TimeoutError when none is free before `deadline`."""
        seconds = _seconds_to(deadline)
        if self._places.locked():
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        else:
            await self._places.acquire()
        lane = self._free.pop()
        try:
            yield lane
        finally:
            self._free.append(lane)
            self._places.release()

    async def close(self, within: float) -> None:
        """Close them all, for at most `within` seconds."""
        await asyncio.gather(*(lane.close(within) for lane in self._all))


def _seconds_to(deadline: float) -> float:
    """Give the seconds left, which are more than none; raises TimeoutError."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
