"""Transactions on SQLite: with the lock for writing nothing can wait any more, and a command takes microseconds.

That is less than the way to a thread and back. What may take longer stays in the connection's thread: to wait for the
lock, and the commit, which writes to the disk. A transaction whose commands are all known when it begins shares that
with others (`server/sqlite_groups.py`).
"""

from typing import Any

from sqlalchemy.pool import PoolProxiedConnection

from server import pools
from server.sqlite_connection import Connection
from server.sqlite_groups import Groups, Step
from server.sqlite_lending import borrow_begun, driver_of, execute, give_back
from server.transactions import Filed, Transaction


class SqliteTransaction(Transaction):
    """A session that runs commands on the connection itself, as long as nothing else was asked of it."""

    _driver: Connection
    """The connection itself, while it is lent."""

    def __init__(self, *arguments: Any, groups: Groups, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._groups = groups

    async def _run(self, filed: Filed) -> list[Any]:
        if not self._goes_alone:
            return await super()._run(filed)
        if self._lent is None:
            pools.note_start()
            self._lend(lent := await borrow_begun(self._pool))
            self._driver = driver_of(lent)
        prepared = self._commands[filed.command]
        rows = await execute(self._driver, prepared.sql, prepared.arguments(filed.values))
        return [prepared.result(row) for row in rows]

    async def commit(self) -> None:
        """Commit what commands and everything else have written."""
        if self._is_whole:
            await self._commit_grouped()
            return
        await self._settle()
        if self._is_shared:
            await super().commit()
        if self._lent is not None:
            if self._driver.in_transaction:
                await self._driver.commit()
            await self._part()

    @property
    def _is_whole(self) -> bool:
        """Whether all of it is known and nothing has begun, so that it may be committed together with others."""
        return self._lent is None and bool(self._filed) and self._goes_alone

    async def _commit_grouped(self) -> None:
        demand, filed = self._take_filed()
        wanted = filed if demand is None else [demand.filed, *filed]
        await self._groups.commit([self._step(each) for each in wanted], demand and demand.otherwise)

    def _step(self, filed: Filed) -> Step:
        prepared = self._commands[filed.command]
        return Step(prepared.sql, prepared.arguments(filed.values))

    async def _give_back(self, lent: PoolProxiedConnection) -> None:
        give_back(self._pool, lent)
