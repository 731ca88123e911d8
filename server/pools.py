"""Pools of connections for writing: SQLAlchemy's, counted, and lent without SQLAlchemy's ways to whoever is in haste.

One budget covers everything between a transaction's start and its first statement: the wait for a pooled
connection, for the network, and for SQLite's lock. It starts anew with each transaction.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

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


class LendingPool(AsyncAdaptedQueuePool):
    """A pool that knows how many wait for a connection, for one that is being opened too, and how many gave up.

    One may also borrow from it without SQLAlchemy, in the order of coming. What is given back is kept at hand then: to
    check a connection in and out again takes longer than many a statement.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.timeouts = 0
        self._kept: list[PoolProxiedConnection] = []
        self._borrowers = 0
        """Who waits for a turn: SQLAlchemy's own queue makes a task and a greenlet for each who waits."""
        self._others = 0
        """Who waits for SQLAlchemy, which knows nothing of what is kept."""
        self.gathered = 0
        """Who waits for one of the others to get a connection for all of them."""
        self._turns = asyncio.Semaphore(self.size())

    @property
    def waiting(self) -> int:
        """How many wait for a connection now."""
        return self._borrowers + self._others + self.gathered

    def connect(self) -> PoolProxiedConnection:
        """Give a connection. Raises SQLAlchemy's TimeoutError when none is free in time."""
        self._others += 1
        try:
            return super().connect()
        except PoolTimeout:
            self.timeouts += 1
            raise
        finally:
            self._others -= 1

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

    async def borrow(self) -> PoolProxiedConnection:
        """Give a connection, which may have been closed since it was used last.

        Raises TimeoutError, or SQLAlchemy's, when none is free in time.
        """
        await self._take_turn()
        if self._kept:
            return self._kept.pop()
        try:
            # Both queues together may take no longer than one.
            async with self._patience():
                return await greenlet_spawn(self.connect)
        except BaseException:
            self._turns.release()
            raise

    def give_back(self, borrowed: PoolProxiedConnection) -> None:
        """Take a connection back, which is in no transaction."""
        try:
            if borrowed.is_valid and not self._others:
                self._kept.append(borrowed)
            else:
                borrowed.close()
        finally:
            self._turns.release()

    async def _take_turn(self) -> None:
        if not self._turns.locked():
            await self._turns.acquire()
            return
        self._borrowers += 1
        try:
            async with self._patience():
                await self._turns.acquire()
        finally:
            self._borrowers -= 1

    @asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(remaining(self.timeout())):
                yield
        except TimeoutError:
            self.timeouts += 1
            raise
