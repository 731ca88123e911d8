"""Transactions on SQLite: once the write lock is held nothing waits any more, and a statement costs microseconds.

That is less than a round trip to a thread. What may take longer runs in the connection's thread: waiting for the
lock, and the commit, which writes to disk. Transactions whose statements are all known when they
begin share a commit (`server/database/sqlite/group_commit.py`).
"""

from typing import Any

from sqlalchemy.pool import PoolProxiedConnection

from server.database import pool
from server.database.sqlite.begin import acquire_begun, driver_of, execute, release
from server.database.sqlite.connection import Connection
from server.database.sqlite.group_commit import GroupCommit, Statement
from server.database.transaction import Deferred, Transaction


class SqliteTransaction(Transaction):
    """A session that executes write statements on the driver's connection, as long as the ORM is not used."""

    _driver: Connection
    """The driver's connection, while it is acquired."""

    def __init__(self, *arguments: Any, group_commit: GroupCommit, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._group_commit = group_commit

    async def _run(self, deferred: Deferred) -> list[Any]:
        if not self._runs_directly:
            return await super()._run(deferred)
        if self._acquired is None:
            pool.note_start()
            self._use(acquired := await acquire_begun(self._pool))
            self._driver = driver_of(acquired)
        compiled = self._statements[deferred.statement]
        rows = await execute(self._driver, compiled.sql, compiled.arguments(deferred.values))
        return [compiled.result(row) for row in rows]

    async def commit(self) -> None:
        """Commit what write statements and the ORM have written."""
        if self._is_whole:
            await self._commit_grouped()
            return
        await self._flush_deferred()
        if self._is_shared:
            await super().commit()
        if self._acquired is not None:
            if self._driver.in_transaction:
                await self._driver.commit()
            await self._release_acquired()

    @property
    def _is_whole(self) -> bool:
        """Whether all statements are known and nothing has begun, so that it can take part in a group commit."""
        return self._acquired is None and bool(self._deferred) and self._runs_directly

    async def _commit_grouped(self) -> None:
        guard, deferred = self._take_deferred()
        wanted = deferred if guard is None else [guard.deferred, *deferred]
        await self._group_commit.commit(
            [self._compiled_statement(each) for each in wanted], guard and guard.error
        )

    def _compiled_statement(self, deferred: Deferred) -> Statement:
        compiled = self._statements[deferred.statement]
        return Statement(compiled.sql, compiled.arguments(deferred.values))

    async def _release(self, acquired: PoolProxiedConnection) -> None:
        release(self._pool, acquired)
