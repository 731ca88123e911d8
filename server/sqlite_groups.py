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
from server import pools
from server.pools import LendingPool
from server.sqlite_connection import Connection
from server.sqlite_lending import borrow_begun, driver_of, execute, give_back

AT_MOST = 32
"""Members of a group: the event loop executes their statements in one go, some 50 µs for each member."""

NAME = "commits on SQLite"
"""What the task is called that makes them."""


class Step(NamedTuple):
    """A statement and its parameters."""

    sql: str
    arguments: tuple[object, ...]


class Member(NamedTuple):
    """A whole transaction, which somebody waits for."""

    steps: Sequence[Step]
    otherwise: type[Exception] | None
    """What is raised if the first step has no result; None where nothing is demanded."""
    since: float
    """When (monotonic seconds) it came."""
    done: "asyncio.Future[None]"

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still waits for it: who leaves before its turn takes it along."""
        return not self.done.done()

    async def execute(self, driver: Connection) -> None:
        """Execute all of it."""
        for place, (sql, arguments) in enumerate(self.steps):
            rows = await execute(driver, sql, arguments)
            if self.otherwise is not None and place == 0 and not rows:
                raise self.otherwise

    def fail(self, fault: Exception) -> None:
        """Tell that nothing of it was kept."""
        if self.is_wanted:
            self.done.set_exception(fault)

    def succeed(self) -> None:
        """Tell that all of it is kept."""
        if self.is_wanted:
            self.done.set_result(None)


class Groups:
    """What waits to be committed on one SQLite file by this process."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.sync_engine
        self._waiting: list[Member] = []
        self._serving: asyncio.Task[None] | None = None

    async def commit(self, steps: Sequence[Step], otherwise: type[Exception] | None) -> None:
        """Execute a whole transaction; return when it is committed.

        Raises `otherwise` if that is given and the first step has no result, SQLAlchemy's IntegrityError, and what the
        pool and sqlite3 raise; nothing was kept then.
        """
        member = Member(steps, otherwise, time.monotonic(), asyncio.get_running_loop().create_future())
        self._waiting.append(member)
        self._note_waiting()
        if self._serving is None or self._serving.done():
            # It serves many requests, and must end with none of them.
            self._serving = asyncio.create_task(self._serve(), name=NAME, context=Context())
        await member.done

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
        self._pool.gathered = max(0, len(self._waiting) - 1)

    async def _serve_group(self) -> None:
        pools.note_start_at(self._waiting[0].since)
        try:
            lent = await borrow_begun(self._pool)
        except Exception as fault:
            # The budget was that of the one who waits for longest: the others have time left.
            self._waiting.pop(0).fail(fault)
            return
        # Also those who came while the lock was waited for.
        group, self._waiting = self._waiting[:AT_MOST], self._waiting[AT_MOST:]
        try:
            await _commit_together(driver_of(lent), [member for member in group if member.is_wanted])
        except BaseException as fault:
            _fail(group, fault)
            if not isinstance(fault, Exception):
                raise
        finally:
            give_back(self._pool, lent)

    @property
    def _pool(self) -> LendingPool:
        pool = self._engine.pool
        assert isinstance(pool, LendingPool)  # noqa: S101
        return pool


def _fail(members: Sequence[Member], fault: BaseException) -> None:
    """Tell members that nothing of theirs was kept; a cancellation is nobody's but ours."""
    for member in members:
        member.fail(fault if isinstance(fault, Exception) else Unavailable())


async def _commit_together(driver: Connection, group: Sequence[Member]) -> None:
    """Commit what can be, and tell everybody; raises what nobody's transaction survives.

    Who failed may have met what another one of the group has written, and so waits for the commit, too.
    """
    faults = [await _execute(driver, member, is_alone=len(group) == 1) for member in group]
    if None in faults:
        await driver.commit()
    for member, fault in zip(group, faults, strict=True):
        if fault is None:
            member.succeed()
        else:
            member.fail(fault)


async def _execute(driver: Connection, member: Member, *, is_alone: bool) -> Exception | None:
    """Execute a transaction so that nothing of it is left if it fails; give what it failed by."""
    try:
        if is_alone:
            await member.execute(driver)
            return None
        await driver.run("SAVEPOINT member", ())
        await member.execute(driver)
        await driver.run("RELEASE member", ())
    except Exception as fault:
        if not is_alone:
            await _take_back(driver, fault)
        return fault
    return None


async def _take_back(driver: Connection, fault: Exception) -> None:
    """Undo what one transaction has written; a fault that has ended the transaction of all is everybody's."""
    if not driver.in_transaction:
        raise fault
    await driver.run("ROLLBACK TO member", ())
    await driver.run("RELEASE member", ())
