"""A pool of connections for writing or reading: last used, first out; callers wait first come, first served.

One budget covers everything between a transaction's start and its first statement: the wait for a pooled connection,
for the network, and for SQLite's lock. A deadline stands for it, in seconds of `time.monotonic`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, NamedTuple, Protocol, TypeVar


class PooledConnection(Protocol):
    """The part of a connection that the pool uses."""

    def is_closed(self) -> bool:
        """Return whether the connection was closed, here or by the server."""

    def terminate(self) -> None:
        """Close the connection at once, without a word to the server."""

    async def close(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncpg's name for it
        """Close the connection in order, within so many seconds."""


Connection = TypeVar("Connection", bound=PooledConnection)


class PoolState(NamedTuple):
    """The numbers of connections at most, in use, waited for, and not acquired in time."""

    size: int
    used: int
    waiting: int
    timeouts: int


def seconds_to(deadline: float) -> float:
    """Return the seconds left, which are more than none. Raises TimeoutError."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


class Pool(Generic[Connection]):
    """At most `size` connections; `connect` opens one within the given number of seconds."""

    def __init__(self, connect: Callable[[float], Awaitable[Connection]], size: int) -> None:
        self._connect = connect
        self._size = size
        self._free: list[Connection] = []
        # A queue would let new callers take a connection before those it has just woken, which could then starve.
        self._permits = asyncio.Semaphore(size)
        self._used: set[Connection] = set()
        self._waiting = 0
        self._timeouts = 0
        self._is_closed = False
        self.grouped = 0
        """Transactions that wait for a group commit, which acquires one connection for all of them."""

    def state(self) -> PoolState:
        """Return how much of the pool is in use now."""
        return PoolState(self._size, len(self._used), self._waiting + self.grouped, self._timeouts)

    async def acquire(self, deadline: float) -> Connection:
        """Return an open connection; `release` must follow. Raises TimeoutError, and what connecting raises."""
        if not self._permits.locked() and self._free and not self._free[-1].is_closed():
            await self._permits.acquire()
            connection = self._free.pop()
            self._used.add(connection)
            return connection
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds_to(deadline)):  # defence: R4 pool-timeout
                await self._permits.acquire()
                try:
                    connection = await self._open(deadline)
                except BaseException:
                    self._permits.release()
                    raise
        except TimeoutError:
            self._timeouts += 1
            raise
        finally:
            self._waiting -= 1
        self._used.add(connection)
        return connection

    async def _open(self, deadline: float) -> Connection:
        while self._free:
            connection = self._free.pop()
            if not connection.is_closed():  # defence: R1 closed-connection
                return connection
            connection.terminate()
        if not self._is_closed:
            connection = await self._connect(seconds_to(deadline))
            if not self._is_closed:
                return connection
            connection.terminate()
        raise ConnectionError("the connection pool is closed")

    def release(self, connection: Connection, *, drop: bool = False) -> None:
        """Take a connection back, which is in no transaction; `drop` says that it is not to be used again."""
        self._used.discard(connection)
        if drop or self._is_closed or connection.is_closed():
            connection.terminate()
        else:
            self._free.append(connection)
        self._permits.release()

    @asynccontextmanager
    async def connection(self, deadline: float) -> AsyncIterator[Connection]:
        """Yield a connection, which is dropped after any exception."""
        connection = await self.acquire(deadline)
        try:
            yield connection
        except BaseException:
            self.release(connection, drop=True)
            raise
        self.release(connection)

    async def close(self, within: float) -> None:
        """Close every connection within `within` seconds; a statement under way fails."""
        self._is_closed = True
        open_, self._free = [*self._free, *self._used], []
        await asyncio.gather(*(_close(connection, within) for connection in open_))


async def _close(connection: PooledConnection, within: float) -> None:
    try:
        await connection.close(timeout=within)
    except Exception:
        connection.terminate()
