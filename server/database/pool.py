"""Connection pools for writing: SQLAlchemy's with counters, and a faster way to acquire a connection without it.

One budget covers everything between a transaction's start and its first statement: the wait for a pooled
connection, for the network, and for SQLite's lock. It starts anew with each transaction.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry, PoolProxiedConnection
from sqlalchemy.util import greenlet_spawn

_started: ContextVar[float] = ContextVar("_started")
"""When (monotonic seconds) the transaction that now looks for a connection began to look."""


def note_start(*_: object) -> None:
    """Note that a transaction begins to look for a connection now."""
    _started.set(time.monotonic())


def note_start_at(moment: float) -> None:
    """Note that a transaction has been looking for a connection since then (monotonic seconds)."""
    _started.set(moment)


def remaining(timeout: float) -> float:
    """Give the seconds left to get a connection that may be used, out of `timeout`; never negative."""
    now = time.monotonic()
    return max(0.0, _started.get(now) + timeout - now)


class PoolState(NamedTuple):
    """How many connections there may be, how many are in use, how many wait for one, how many got none in time."""

    size: int
    used: int
    waiting: int
    timeouts: int


class CountingPool(AsyncAdaptedQueuePool):
    """A pool that knows how many wait for a connection, for one that is being opened too, and how many gave up.

    Connections can also be acquired without SQLAlchemy, first come first served. Released connections are kept checked
    out then: to check a connection in and out again costs more than many statements.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.timeouts = 0
        self._kept: list[PoolProxiedConnection] = []
        self._queued = 0
        """Callers that wait for a permit: SQLAlchemy's own queue makes a task and a greenlet for each."""
        self._sqlalchemy_waiting = 0
        """Callers that wait in SQLAlchemy's queue, which does not know of the connections kept here."""
        self.grouped = 0
        """Transactions that wait for a group commit, which acquires one connection for all of them."""
        self._permits = asyncio.Semaphore(self.size())

    @property
    def waiting(self) -> int:
        """How many wait for a connection now."""
        return self._queued + self._sqlalchemy_waiting + self.grouped

    def state(self) -> PoolState:
        """Return how much of the pool is in use now."""
        return PoolState(self.size(), self.checkedout(), self.waiting, self.timeouts)

    def connect(self) -> PoolProxiedConnection:
        """Give a connection. Raises SQLAlchemy's TimeoutError when none is free in time."""
        self._sqlalchemy_waiting += 1
        try:
            return super().connect()
        except PoolTimeout:
            self.timeouts += 1
            raise
        finally:
            self._sqlalchemy_waiting -= 1

    def checkedin(self) -> int:
        """Give how many connections are open and free."""
        return super().checkedin() + len(self._kept)

    def checkedout(self) -> int:
        """Give how many connections are in use."""
        return super().checkedout() - len(self._kept)

    def dispose(self) -> None:
        """Close what is free."""
        while self._kept:
            self._kept.pop().close()
        super().dispose()

    def _do_get(self) -> ConnectionPoolEntry:
        if self._kept and not super().checkedin():
            self._kept.pop().close()
        return super()._do_get()

    async def acquire(self) -> PoolProxiedConnection:
        """Give a connection, which may have been closed since it was used last.

        Raises TimeoutError, or SQLAlchemy's, when none is free in time.
        """
        await self._take_permit()
        if self._kept:
            return self._kept.pop()
        try:
            # Both queues together may take no longer than one.
            async with self._within_budget():
                return await greenlet_spawn(self.connect)
        except BaseException:
            self._permits.release()
            raise

    def release(self, connection: PoolProxiedConnection) -> None:
        """Take a connection back, which is in no transaction."""
        try:
            if connection.is_valid and not self._sqlalchemy_waiting:
                self._kept.append(connection)
            else:
                connection.close()
        finally:
            self._permits.release()

    async def _take_permit(self) -> None:
        if not self._permits.locked():
            await self._permits.acquire()
            return
        self._queued += 1
        try:
            async with self._within_budget():
                await self._permits.acquire()
        finally:
            self._queued -= 1

    @asynccontextmanager
    async def _within_budget(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(remaining(self.timeout())):  # defence: R4 pool-timeout
                yield
        except TimeoutError:
            self.timeouts += 1
            raise
