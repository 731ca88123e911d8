"""Group commit for SQLite: transactions of several requests share one lock, one hop to the thread and one write.

Only for transactions whose statements are all known when they begin: they run without waiting, so that uncommitted
changes are visible only to transactions of the same group. They are executed one after the other, each
within its own savepoint, and every caller is answered once the commit of all is done.
"""

from collections.abc import Sequence
from typing import NamedTuple

from server.database.batch import Batcher, Pending
from server.database.pool import Pool
from server.database.sqlite.connection import Connection, acquire_begun, release

AT_MOST = 32
"""Maximum number of transactions in a group; the event loop executes them without a break, about 50 µs for each."""


class Statement(NamedTuple):
    """A statement and its parameters."""

    sql: str
    arguments: tuple[object, ...]


class WholeTransaction(NamedTuple):
    """A transaction with all its statements."""

    statements: Sequence[Statement]
    error: type[Exception] | None
    """Raised if the first statement, the guard, returns no row; None without a guard."""

    async def execute(self, connection: Connection) -> None:
        """Execute all statements. Raises `error` if the guard returns no row."""
        for place, (sql, arguments) in enumerate(self.statements):
            rows = await connection.fetch(sql, arguments)
            if self.error is not None and place == 0 and not rows:
                raise self.error


_Pending = Pending[WholeTransaction, None]


class GroupCommit(Batcher[WholeTransaction, None]):
    """Commits transactions on one SQLite file in groups; a transaction waits at most `timeout` seconds for the lock."""

    def __init__(self, pool: Pool[Connection], timeout: float) -> None:
        super().__init__(AT_MOST)
        self._pool = pool
        self._timeout = timeout

    async def commit(self, statements: Sequence[Statement], error: type[Exception] | None) -> None:
        """Execute a whole transaction, and return after it is committed.

        If `error` is not None, the first statement is a guard: `error` is raised if it returns no row. Also raises
        SQLAlchemy's IntegrityError, and the errors of the pool and of sqlite3. After an error nothing is stored.
        """
        committed = self.submit(WholeTransaction(statements, error))
        self._count_waiting()
        await committed

    async def close(self) -> None:
        """Wait until no group is being committed, because its callers, if cancelled, do not wait for that."""
        if self._task is not None:
            await self._task

    async def _serve_batch(self) -> None:
        try:
            connection = await acquire_begun(self._pool, self._waiting[0].since + self._timeout)
        except Exception as fault:
            # The deadline was that of the longest-waiting caller; the other callers have time left.
            self._waiting.pop(0).fail(fault)
            return
        # Includes transactions that arrived while waiting for the lock.
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
        # Only one caller waits in the pool for all.
        self._pool.grouped = max(0, len(self._waiting) - 1)


async def _commit_together(connection: Connection, group: Sequence[_Pending]) -> None:
    """Commit the group and report the result to every caller. Raises an error that affects the whole group.

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
    """Execute a transaction in a savepoint and undo it if it fails; return the error."""
    try:
        # A savepoint costs two more statements and is not needed if the whole transaction can be rolled back.
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
    """Undo the changes of one transaction. Raises an error that has ended the transaction of the whole group."""
    # SQLite itself rolls back the whole transaction after some errors, such as SQLITE_FULL and SQLITE_IOERR.
    if not connection.in_transaction:
        raise fault
    await connection.fetch("ROLLBACK TO member", ())
    await connection.fetch("RELEASE member", ())
