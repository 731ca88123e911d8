"""Transactions on SQLite: after the write lock is acquired, no statement waits, and each costs only microseconds.

Therefore statements run on the event loop: a hop to a thread would cost more. Slower steps run in the connection's
thread: waiting for the lock, the commit (which writes to disk), and statements that touch many rows. Transactions whose
statements are all known when they begin share a commit (`server/database/sqlite/group_commit.py`).
"""

import time
from collections.abc import Sequence

from server.database.compile import Row, StatementCache
from server.database.pool import Pool
from server.database.sqlite.connection import Connection, acquire_begun, connect, release
from server.database.sqlite.group_commit import GroupCommit, Statement
from server.database.transaction import Deferred, Transaction


class SqliteTransaction(Transaction):
    """A transaction that writes; it begins with the write lock, or fails after `timeout` seconds."""

    def __init__(
        self, pool: Pool[Connection], timeout: float, statements: StatementCache, group_commit: GroupCommit
    ) -> None:
        super().__init__("sqlite", statements)
        self._pool = pool
        self._timeout = timeout
        self._group_commit = group_commit
        self._connection: Connection | None = None

    async def commit(self) -> None:
        """Execute deferred statements, commit, and release the connection.

        If nothing was executed before, the deferred statements are committed together with those of other transactions
        (`group_commit.py`).
        """
        if self._connection is None and self._deferred and self.hook is None:
            guard, deferred = self._take_deferred()
            statements = deferred if guard is None else [guard.deferred, *deferred]
            await self._group_commit.commit(
                [self._statement(each) for each in statements], guard and guard.error
            )
            return
        await self.flush()
        if self._connection is not None:
            if self._connection.in_transaction:
                await self._connection.commit()
            await self._end()

    def _statement(self, deferred: Deferred) -> Statement:
        compiled = self._compile(deferred)
        return Statement(compiled.sql, compiled.arguments(deferred.values))

    async def _fetch(
        self, sql: str, arguments: Sequence[object], *, names: bool = False, in_thread: bool = False
    ) -> Sequence[Row]:
        return await (await self._begun()).fetch(sql, arguments, names=names, in_thread=in_thread)

    async def _fetch_many(self, sql: str, arguments: Sequence[Sequence[object]]) -> None:
        await (await self._begun()).fetch_many(sql, arguments)

    async def _begun(self) -> Connection:
        if self._connection is None:
            self._connection = await acquire_begun(self._pool, time.monotonic() + self._timeout)
        return self._connection

    async def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            release(self._pool, connection)


class SqliteSnapshot(Transaction):
    """A read-only transaction that sees the file as it was at its first statement, on its own connection.

    It does not acquire the write lock. `planned_once` has no effect: SQLite does not plan for values.
    """

    def __init__(
        self, path: str, timeout: float, statements: StatementCache, *, planned_once: bool = False
    ) -> None:
        super().__init__("sqlite", statements)
        self._path = path
        self._timeout = timeout
        self._connection: Connection | None = None

    async def commit(self) -> None:
        """End the snapshot; there is nothing to commit."""
        await self._end()

    async def _fetch(
        self, sql: str, arguments: Sequence[object], *, names: bool = False, in_thread: bool = False
    ) -> Sequence[Row]:
        return await (await self._begun()).fetch(sql, arguments, names=names, in_thread=True)

    async def _fetch_many(self, sql: str, arguments: Sequence[Sequence[object]]) -> None:
        raise AssertionError("a snapshot only reads")

    async def _begun(self) -> Connection:
        if self._connection is None:
            self._connection = await connect(self._path, self._timeout)
            await self._connection.begin(self._timeout, mode="DEFERRED")
        return self._connection

    async def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # A search that has run out of time may still be running, and closing would wait for its end.
            connection.interrupt()
            await connection.close()
