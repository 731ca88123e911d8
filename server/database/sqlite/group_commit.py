"""Transactions of several requests that SQLite commits together: one lock, one way to the thread, one write for all.

Only those whose statements are all known when they begin: nothing is waited for between two of them, so no other
transaction sees what may still be undone but those that share its commit. They are executed one after the other, each
within its own savepoint, and every caller is answered once the commit of all is done.
"""

from collections.abc import Sequence
from typing import NamedTuple

from server.database.batch import Batcher, Pending
from server.database.pool import Pool
from server.database.sqlite.connection import Connection, acquire_begun, release

AT_MOST = 32
"""The most transactions in a group: the event loop executes their statements in one go, about 50 µs for each."""


class Statement(NamedTuple):
    """A statement and its parameters."""

    sql: str
    arguments: tuple[object, ...]


class WholeTransaction(NamedTuple):
    """A complete transaction."""

    statements: Sequence[Statement]
    error: type[Exception] | None
    """Raised if the first statement, the guard, returns no row; None without a guard."""

    async def execute(self, connection: Connection) -> None:
        """Execute all of it."""
        for place, (sql, arguments) in enumerate(self.statements):
            rows = await connection.fetch(sql, arguments)
            if self.error is not None and place == 0 and not rows:
                raise self.error


_Pending = Pending[WholeTransaction, None]


class GroupCommit(Batcher[WholeTransaction, None]):
    """The group commit of one SQLite file in this process; a transaction waits `timeout` seconds for the lock."""

    def __init__(self, pool: Pool[Connection], timeout: float) -> None:
        super().__init__(AT_MOST)
        self._pool = pool
        self._timeout = timeout

    async def commit(self, statements: Sequence[Statement], error: type[Exception] | None) -> None:
        """Execute a whole transaction; return when it is committed.

        Raises `error` if that is given and the first statement returns no row, SQLAlchemy's IntegrityError, and what
        the pool and sqlite3 raise; nothing was kept then.
        """
        committed = self.submit(WholeTransaction(statements, error))
        self._count_waiting()
        await committed

    async def close(self) -> None:
        """Return when nothing is under way any more; the callers that waited for it may have left."""
        if self._task is not None:
            await self._task

    async def _serve_batch(self) -> None:
        try:
            connection = await acquire_begun(self._pool, self._waiting[0].since + self._timeout)
        except Exception as fault:
            # The budget was that of the caller that waits for longest: the others have time left.
            self._waiting.pop(0).fail(fault)
            return
        # Also those that came while the lock was waited for.
        group = self._take()
        try:
            await _commit_together(connection, group)
        except BaseException as fault:
            for pending in group:
                pending.fail(fault)
            if not isinstance(fault, Exception):
                raise
        finally:
            release(self._pool, connection)
            self._count_waiting()

    def _count_waiting(self) -> None:
        # The first waits in the pool for all.
        self._pool.grouped = max(0, len(self._waiting) - 1)


async def _commit_together(connection: Connection, group: Sequence[_Pending]) -> None:
    """Commit what can be, and answer every caller; raises what no transaction of the group survives.

    A transaction that failed may have met what another one of the group has written, and so waits for the commit, too.
    """
    faults = [await _execute(connection, pending.item, is_alone=len(group) == 1) for pending in group]
    if None in faults:
        await connection.commit()
    for pending, fault in zip(group, faults, strict=True):
        if fault is None:
            pending.succeed(None)
        else:
            pending.fail(fault)


async def _execute(
    connection: Connection, transaction: WholeTransaction, *, is_alone: bool
) -> Exception | None:
    """Execute a transaction so that nothing of it is left if it fails; return what it failed by."""
    try:
        if is_alone:
            await transaction.execute(connection)
            return None
        await connection.fetch("SAVEPOINT member", ())
        await transaction.execute(connection)
        await connection.fetch("RELEASE member", ())
    except Exception as fault:
        if not is_alone:
            await _undo(connection, fault)
        return fault
    return None


async def _undo(connection: Connection, fault: Exception) -> None:
    """Undo what one transaction has written; a fault that has ended the transaction of all is everybody's."""
    if not connection.in_transaction:
        raise fault
    await connection.fetch("ROLLBACK TO member", ())
    await connection.fetch("RELEASE member", ())
