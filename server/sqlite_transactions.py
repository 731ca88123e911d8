"""Transactions on SQLite: with the lock for writing nothing can wait any more, and a command takes microseconds.

That is less than the way to a thread and back. What may take longer stays in the connection's thread: to wait for the
lock, and the commit, which writes to the disk.
"""

import sqlite3
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import PoolProxiedConnection

from server import pools
from server.sqlite_connection import Connection as SqliteConnection
from server.transactions import Filed, Transaction


class SqliteTransaction(Transaction):
    """A session that runs commands on the connection itself, as long as nothing else was asked of it."""

    async def _run(self, filed: Filed) -> list[Any]:
        if not self._goes_alone:
            return await super()._run(filed)
        if self._lent is None:
            await self._begin()
        assert self._lent is not None  # noqa: S101
        prepared = self._commands[filed.command]
        try:
            rows = await _driver(self._lent).run(prepared.sql, prepared.arguments(filed.values))
        except sqlite3.IntegrityError as error:
            raise IntegrityError(prepared.sql, None, error, hide_parameters=True) from error
        return [prepared.result(row) for row in rows]

    async def commit(self) -> None:
        """Commit what commands and everything else have written."""
        await self._settle()
        if self._lent is None or self.in_transaction():
            await super().commit()
        if self._lent is not None:
            driver = _driver(self._lent)
            if driver.in_transaction:
                await driver.commit()
            await self._part()

    async def _begin(self) -> None:
        pools.note_start()
        pool = self._pool
        lent = await pool.borrow()
        try:
            driver = _driver(lent)
            if not driver.begin_at_once():
                await driver.begin(pools.remaining(pool.timeout()))
        except BaseException:
            await self._give_back(lent)
            raise
        self._lend(lent)

    async def _give_back(self, lent: PoolProxiedConnection) -> None:
        try:
            if lent.is_valid:
                _driver(lent).undo()
        finally:
            self._pool.give_back(lent)


def _driver(lent: PoolProxiedConnection) -> SqliteConnection:
    driver = lent.driver_connection
    assert isinstance(driver, SqliteConnection)  # noqa: S101
    return driver
