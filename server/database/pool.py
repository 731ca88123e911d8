"""A connection pool for writing or reading: last in, first out; callers wait in order of arrival.

One deadline (seconds of `time.monotonic`) covers everything between a transaction's start and its first statement: the
wait for a pooled connection, for the network, and for SQLite's lock.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from server.database.errors import is_read_only, is_unavailable


class PooledConnection(Protocol):
    """The part of a connection that the pool uses."""

    def is_closed(self) -> bool:
        """Return whether the connection was closed, here or by the server."""

    def terminate(self) -> None:
        """Close the connection at once, without notifying the server."""

    async def close(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncpg's name for it
        """Close the connection gracefully, within `timeout` seconds."""


Connection = TypeVar("Connection", bound=PooledConnection)


Answer = TypeVar("Answer")

_WATCH_PAUSE = 0.25
"""Seconds between two checks whether the server still has the sessions of unanswered commits."""


class Commit(NamedTuple):
    """A commit without a response yet, and when it was sent (`time.monotonic`)."""

    request: "asyncio.Task[Any]"
    since: float


class PoolState(NamedTuple):
    """The load of a pool and its failures so far."""

    size: int
    """The maximum number of connections."""
    used: int
    waiting: int
    """Transactions that wait for a connection."""
    unanswered: int
    """Commits without a response in time; each holds one of the `used` connections."""
    timeouts: int
    """Transactions so far that timed out waiting for a connection."""
    read_only: int
    """Connections so far that were closed because their server is read-only."""
    away: float
    """Seconds so far in which no connection could be opened."""


def seconds_to(deadline: float) -> float:
    """Return the seconds until a deadline (`time.monotonic`). Raises TimeoutError if it has passed."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


class Pool(Generic[Connection]):
    """A pool of at most `size` connections."""

    def __init__(
        self,
        connect: Callable[[float], Awaitable[Connection]],
        size: int,
        find_lost: Callable[[Mapping[Connection, float]], Awaitable[Sequence[Connection]]] | None = None,
        *,
        reserve: int = 0,
    ) -> None:
        """Create an empty pool; `connect` opens a connection within the given number of seconds.

        `reserve` connections are kept for callers that may hold a connection already, and would otherwise wait for each
        other. `find_lost` gets the connections with an unanswered commit, each with the seconds since the commit was
        sent, and returns those whose session no longer exists on the server.
        """
        self._connect = connect
        self._size = size
        self._find_lost = find_lost
        self._watch: asyncio.Task[None] | None = None
        self._free: list[Connection] = []
        # With a queue, new callers could take a connection before those that were just woken, which could starve.
        everything = asyncio.Semaphore(size)
        self._permits = {True: (everything,), False: (asyncio.Semaphore(size - reserve), everything)}
        self._used: dict[Connection, Sequence[asyncio.Semaphore]] = {}
        self._commits: dict[Connection, Commit] = {}
        self._unanswered: set[Connection] = set()
        self._waiting = 0
        self._timeouts = 0
        self._read_only = 0
        self._away = 0.0
        self._away_since: float | None = None
        self._is_closed = False
        self.grouped = 0
        """Transactions that wait for a group commit, which acquires one connection for all of them."""

    def state(self) -> PoolState:
        """Return the state of the pool."""
        away = 0.0 if self._away_since is None else time.monotonic() - self._away_since
        return PoolState(
            size=self._size,
            used=len(self._used),
            waiting=self._waiting + self.grouped,
            unanswered=len(self._unanswered),
            timeouts=self._timeouts,
            read_only=self._read_only,
            away=self._away + away,
        )

    async def acquire(self, deadline: float, *, from_reserve: bool = False) -> Connection:
        """Return an open connection, which the caller must pass to `release`. Raises TimeoutError at the deadline
        (`time.monotonic`), and the errors of connecting.

        With `from_reserve`, it may be one of the reserved connections.
        """
        permits = self._permits[from_reserve]
        if self._free and not self._free[-1].is_closed() and not any(each.locked() for each in permits):
            for each in permits:
                await each.acquire()
            connection = self._free.pop()
            self._used[connection] = permits
            return connection
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds_to(deadline)):  # defence: R4 pool-timeout
                connection = await self._wait(permits, deadline)
        except TimeoutError:
            self._timeouts += 1
            raise
        finally:
            self._waiting -= 1
        self._used[connection] = permits
        return connection

    async def _wait(self, permits: Sequence[asyncio.Semaphore], deadline: float) -> Connection:
        with ExitStack() as held:
            for each in permits:
                await each.acquire()
                held.callback(each.release)
            connection = await self._open(deadline)
            held.pop_all()
            return connection

    async def _open(self, deadline: float) -> Connection:
        while self._free:
            connection = self._free.pop()
            if not connection.is_closed():  # defence: R1 closed-connection
                return connection
            connection.terminate()
        if not self._is_closed:
            connection = await self._connected(seconds_to(deadline))
            if not self._is_closed:
                return connection
            connection.terminate()
        raise ConnectionError("the connection pool is closed")

    async def _connected(self, within: float) -> Connection:
        """Open a connection, and measure for how long that fails."""
        try:
            connection = await self._connect(within)
        except Exception as error:
            self.note_read_only(error)
            if self._away_since is None and is_unavailable(error):
                self._away_since = time.monotonic()
            raise
        if self._away_since is not None:
            self._away += time.monotonic() - self._away_since
            self._away_since = None
        return connection

    def note_read_only(self, error: BaseException) -> None:
        """Count a failed connection as read-only, if the error says so. The caller drops the connection."""
        self._read_only += is_read_only(error)

    def release(self, connection: Connection, *, drop: bool = False) -> None:
        """Return a connection without an open transaction to the pool; close it if `drop` is true."""
        permits = self._used.pop(connection)
        if drop or self._is_closed or connection.is_closed():
            connection.terminate()
        else:
            self._free.append(connection)
        for each in permits:
            each.release()

    async def commit(
        self, connection: Connection, request: Coroutine[Any, Any, Answer], within: float
    ) -> Answer:
        """Send a request that commits, and return the server's response. Raises the errors of the request.

        Raises TimeoutError after `within` seconds without a response. Then, and if the caller is cancelled, the pool
        keeps the connection (`is_unanswered`) until the server has responded or the connection is lost. The request is
        never cancelled: the server may be waiting for a replica, and would make the commit visible without it.
        """
        commit = self._commits[connection] = Commit(
            asyncio.get_running_loop().create_task(request), time.monotonic()
        )
        try:
            answered, _ = await asyncio.wait({commit.request}, timeout=within)
            if not answered:
                raise TimeoutError
        except BaseException:
            self._unanswered.add(connection)  # defence: R46 commit-place
            commit.request.add_done_callback(partial(self._answered, connection))
            if self._watch is None and self._find_lost is not None:
                self._watch = asyncio.create_task(self._close_lost(self._find_lost))
            raise
        del self._commits[connection]
        return cast("Answer", commit.request.result())

    def is_unanswered(self, connection: Connection) -> bool:
        """Return whether the pool holds a connection because a commit on it is unanswered."""
        return connection in self._unanswered

    async def _close_lost(
        self, find_lost: Callable[[Mapping[Connection, float]], Awaitable[Sequence[Connection]]]
    ) -> None:
        """Close connections whose session the server has lost, until every commit is answered.

        After a failover TCP reports the loss of the old server only after a quarter of an hour.
        """
        try:
            while self._unanswered and not self._is_closed:
                await asyncio.sleep(_WATCH_PAUSE)
                now = time.monotonic()
                ages = {each: now - self._commits[each].since for each in self._unanswered}
                for connection in await find_lost(ages):
                    if self.is_unanswered(connection):
                        connection.terminate()
        finally:
            self._watch = None

    def _answered(self, connection: Connection, request: "asyncio.Task[Any]") -> None:
        del self._commits[connection]
        self._unanswered.discard(connection)
        self.release(connection, drop=request.cancelled() or request.exception() is not None)

    @asynccontextmanager
    async def connection(self, deadline: float) -> AsyncIterator[Connection]:
        """Yield a connection; drop it after any exception."""
        connection = await self.acquire(deadline)
        try:
            yield connection
        except BaseException:
            self.release(connection, drop=True)
            raise
        self.release(connection)

    async def close(self, within: float) -> None:
        """Close every connection within `within` seconds; a running statement fails.

        A running commit is left to the server, because closing its connection gracefully would cancel it.
        """
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
        for connection in list(self._commits):
            connection.terminate()
        open_, self._free = [*self._free, *(self._used.keys() - self._commits.keys())], []
        await asyncio.gather(*(_close(connection, within) for connection in open_))


async def _close(connection: PooledConnection, within: float) -> None:
    try:
        await connection.close(timeout=within)
    except Exception:
        connection.terminate()
