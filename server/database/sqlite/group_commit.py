"""Transactions of several requests that SQLite commits together: one lock, one way to the thread, one write for all.

Only those whose statements are all known when they begin: nothing is waited for between two of them, so nobody sees
what may still be undone but those who share its commit. While a commit is under way, further ones gather; no time is
waited for more of them. They are executed one after the other, each within its own savepoint, and everybody is told
once the commit of all is done.
"""

import asyncio
import time
from collections.abc import Sequence
from contextvars import Context
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncEngine

from domain.errors import Unavailable
from server.database import pool as database_pool
from server.database.pool import CountingPool
from server.database.sqlite.begin import acquire_begun, driver_of, execute, release
from server.database.sqlite.connection import Connection

AT_MOST = 32
"""The most transactions in a group: the event loop executes their statements in one go, about 50 µs for each."""

NAME = "commits on SQLite"
"""What the task is called that makes them."""


class Statement(NamedTuple):
    """A statement and its parameters."""

    sql: str
    arguments: tuple[object, ...]


class PendingTransaction(NamedTuple):
    """A complete transaction that waits for its commit."""

    statements: Sequence[Statement]
    error: type[Exception] | None
    """Raised if the first statement, the guard, has no result; None without a guard."""
    since: float
    """When (monotonic seconds) it came."""
    done: "asyncio.Future[None]"

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still waits for it: who leaves before its turn takes it along."""
        return not self.done.done()

    async def execute(self, driver: Connection) -> None:
        """Execute all of it."""
        for place, (sql, arguments) in enumerate(self.statements):
            rows = await execute(driver, sql, arguments)
            if self.error is not None and place == 0 and not rows:
                raise self.error

    def fail(self, fault: Exception) -> None:
        """Tell that nothing of it was kept."""
        if self.is_wanted:
            self.done.set_exception(fault)

    def succeed(self) -> None:
        """Tell that all of it is kept."""
        if self.is_wanted:
            self.done.set_result(None)


class GroupCommit:
    """The group commit of one SQLite file in this process."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.sync_engine
        self._waiting: list[PendingTransaction] = []
        self._serving: asyncio.Task[None] | None = None

    async def commit(self, statements: Sequence[Statement], error: type[Exception] | None) -> None:
        """Execute a whole transaction; return when it is committed.

        Raises `error` if that is given and the first statement has no result, SQLAlchemy's IntegrityError, and what the
        pool and sqlite3 raise; nothing was kept then.
        """
        transaction = PendingTransaction(
            statements, error, time.monotonic(), asyncio.get_running_loop().create_future()
        )
        self._waiting.append(transaction)
        self._note_waiting()
        if self._serving is None or self._serving.done():
            # It serves many requests, and must end with none of them.
            self._serving = asyncio.create_task(self._serve(), name=NAME, context=Context())
        await transaction.done

    async def close(self) -> None:
        """Return when nothing is under way any more; those who waited for it may have left."""
        if self._serving is not None:
            await self._serving

    async def _serve(self) -> None:
        try:
            while self._waiting:
                await self._serve_group()
                self._note_waiting()
        finally:
            # Only who is ended from outside, or met a defect, leaves anybody here.
            waiting, self._waiting = self._waiting, []
            _fail(waiting, Unavailable())

    def _note_waiting(self) -> None:
        # The first waits in the pool for all.
        self._pool.grouped = max(0, len(self._waiting) - 1)

    async def _serve_group(self) -> None:
        database_pool.note_start_at(self._waiting[0].since)
        try:
            acquired = await acquire_begun(self._pool)
        except Exception as fault:
            # The budget was that of the one who waits for longest: the others have time left.
            self._waiting.pop(0).fail(fault)
            return
        # Also those who came while the lock was waited for.
        group, self._waiting = self._waiting[:AT_MOST], self._waiting[AT_MOST:]
        try:
            await _commit_together(
                driver_of(acquired), [transaction for transaction in group if transaction.is_wanted]
            )
        except BaseException as fault:
            _fail(group, fault)
            if not isinstance(fault, Exception):
                raise
        finally:
            release(self._pool, acquired)

    @property
    def _pool(self) -> CountingPool:
        pool = self._engine.pool
        assert isinstance(pool, CountingPool)  # noqa: S101
        return pool


def _fail(transactions: Sequence[PendingTransaction], fault: BaseException) -> None:
    """Fail transactions, of which nothing was kept; a cancellation of the group is reported as Unavailable."""
    for transaction in transactions:
        transaction.fail(fault if isinstance(fault, Exception) else Unavailable())


async def _commit_together(driver: Connection, group: Sequence[PendingTransaction]) -> None:
    """Commit what can be, and tell everybody; raises what nobody's transaction survives.

    Who failed may have met what another one of the group has written, and so waits for the commit, too.
    """
    faults = [await _execute(driver, transaction, is_alone=len(group) == 1) for transaction in group]
    if None in faults:
        await driver.commit()
    for transaction, fault in zip(group, faults, strict=True):
        if fault is None:
            transaction.succeed()
        else:
            transaction.fail(fault)


async def _execute(
    driver: Connection, transaction: PendingTransaction, *, is_alone: bool
) -> Exception | None:
    """Execute a transaction so that nothing of it is left if it fails; give what it failed by."""
    try:
        if is_alone:
            await transaction.execute(driver)
            return None
        await driver.run("SAVEPOINT member", ())
        await transaction.execute(driver)
        await driver.run("RELEASE member", ())
    except Exception as fault:
        if not is_alone:
            await _undo(driver, fault)
        return fault
    return None


async def _undo(driver: Connection, fault: Exception) -> None:
    """Undo what one transaction has written; a fault that has ended the transaction of all is everybody's."""
    if not driver.in_transaction:
        raise fault
    await driver.run("ROLLBACK TO member", ())
    await driver.run("RELEASE member", ())
