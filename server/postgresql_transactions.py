"""Transactions on PostgreSQL: each statement is a way to the server and back, so what is filed takes one together.

A transaction in which nothing else happens is that one statement, without BEGIN and COMMIT.
"""

import re
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.util import greenlet_spawn

from server import pools
from server.postgresql_engine import Driver
from server.transactions import Demand, Filed, Prepared, Transaction

TOGETHER = 8
"""Commands in one statement at the most: every number of them is a statement that the server has to prepare."""

Answer = TypeVar("Answer")
_PARAMETER = re.compile(r"\$(\d+)")


class PostgresqlTransaction(Transaction):
    """A session that runs commands on the driver's connection, as long as nothing else was asked of it."""

    def __init__(self, *arguments: Any, pooled: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # The isolation of what has no BEGIN is the connection's own, and behind a pooler that is the server's choice.
        self._wants_begin = pooled
        self._is_broken = False
        """Whether nobody knows what the server makes of the connection that was lent."""

    async def _run(self, filed: Filed) -> list[Any]:
        if not self._goes_alone:
            return await super()._run(filed)
        prepared = self._commands[filed.command]
        rows = await self._fetch(await self._begun(), prepared.sql, prepared.arguments(filed.values))
        return [prepared.result(row) for row in rows]

    async def _run_filed(self, demand: Demand | None, filed: Sequence[Filed]) -> None:
        if self._goes_alone:
            await self._run_together(await self._begun(), demand, filed)
        else:
            await super()._run_filed(demand, filed)

    async def _run_together(
        self, lent: PoolProxiedConnection, demand: Demand | None, filed: Sequence[Filed]
    ) -> None:
        demanded = [] if demand is None else [demand.filed]
        asked = [(self._commands[command], values) for command, values in (*demanded, *filed[:TOGETHER])]
        sql = together(tuple([prepared for prepared, _ in asked]), is_demanded=demand is not None)
        arguments = [value for prepared, values in asked for value in prepared.arguments(values)]
        met = await self._fetch(lent, sql, arguments)
        if demand is not None and not met:
            raise demand.otherwise
        if filed[TOGETHER:]:
            await self._run_together(lent, None, filed[TOGETHER:])

    async def commit(self) -> None:
        """Commit what commands and everything else have written."""
        if self._is_one_statement:
            self._lent = await self._borrow()
            await self._run_together(self._lent, *self._take_filed())
        await self._settle()
        if self._is_shared:
            await super().commit()
        if self._lent is not None:
            await self._commit(_adapted(self._lent))
            await self._part()

    @property
    def _is_one_statement(self) -> bool:
        is_untouched = self._lent is None and self._goes_alone and not self._wants_begin
        return is_untouched and 0 < len(self._filed) <= TOGETHER

    async def _commit(self, adapted: AsyncAdapt_asyncpg_connection) -> None:
        transaction, adapted._transaction = adapted._transaction, None
        if transaction is not None:
            await self._guarded(transaction.commit())

    async def _begun(self) -> PoolProxiedConnection:
        """Give the connection, on which a transaction has begun; SQLAlchemy's half must know of it, too."""
        if self._lent is None:
            self._lend(await self._borrow())
            assert self._lent is not None  # noqa: S101
            await self._guarded(_adapted(self._lent)._start_transaction())
        return self._lent

    async def _borrow(self) -> PoolProxiedConnection:
        pools.note_start()
        while True:
            lent = await self._pool.borrow()
            if not _driver(lent).is_closed():
                return lent
            await self._give_back(lent)

    async def _fetch(
        self, lent: PoolProxiedConnection, sql: str, arguments: Sequence[object]
    ) -> Sequence[Any]:
        try:
            return await self._guarded(_driver(lent).fetch(sql, *arguments))
        except asyncpg.IntegrityConstraintViolationError as error:
            # Its details would show values.
            plain = type(error)(*error.args)
            raise IntegrityError(sql, None, plain, hide_parameters=True) from error

    async def _guarded(self, question: Awaitable[Answer]) -> Answer:
        """Give the answer; only an error that the server has told leaves the connection as one knows it."""
        try:
            return await question
        except asyncpg.PostgresError:
            raise
        except BaseException as fault:
            self._is_broken = True
            if isinstance(fault, TimeoutError) and self._lent is not None:
                # A server that let the client's time-out pass would let an orderly farewell pass, too.
                _driver(self._lent).terminate()
            raise

    async def _give_back(self, lent: PoolProxiedConnection) -> None:
        try:
            if lent.is_valid:
                await self._end(lent)
        finally:
            self._is_broken = False
            self._pool.give_back(lent)

    async def _end(self, lent: PoolProxiedConnection) -> None:
        """End the transaction, if there still is one, and the connection, if it is worth nothing any more."""
        adapted, driver = _adapted(lent), _driver(lent)
        transaction, adapted._transaction = adapted._transaction, None
        try:
            if transaction is not None and not self._is_broken and not driver.is_closed():
                await self._guarded(transaction.rollback())
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._is_broken = True
        finally:
            if self._is_broken or driver.is_closed():
                await greenlet_spawn(lent.invalidate)


@lru_cache(maxsize=512)
def together(commands: tuple[Prepared[Any], ...], *, is_demanded: bool) -> str:
    """Give one statement for commands that do not depend on each other, with all their parameters.

    If the first is what is demanded, the others are executed after it, and only if it has a result: so does this one.
    """
    if len(commands) == 1 and not is_demanded:
        return commands[0].sql
    parts, shift = [], 0
    for place, prepared in enumerate(commands):
        sql = _conditional(prepared) if is_demanded and place else prepared.sql
        sql = _PARAMETER.sub(lambda found, by=shift: f"${int(found[1]) + by}", sql)  # type: ignore[misc]
        parts.append(f"step{place} AS ({sql})")
        shift += prepared.parameters
    steps = ", ".join(parts)
    return f"WITH {steps} SELECT 1" + (" FROM step0" if is_demanded else "")  # noqa: S608 - no value is in it


def _conditional(prepared: Prepared[Any]) -> str:
    """Give a command that does nothing unless the first step has a result."""
    if not prepared.inserts:
        changing, returning, columns = prepared.sql.partition(" RETURNING ")
        return f"{changing} AND EXISTS (SELECT FROM step0){returning}{columns}"
    # A SELECT, unlike VALUES, can have a condition.
    adding, conflict, update = prepared.sql.partition(" ON CONFLICT ")
    columns, _, values = adding.removesuffix(")").partition(" VALUES (")
    return f"{columns} SELECT {values} WHERE EXISTS (SELECT FROM step0){conflict}{update}"  # noqa: S608 - no value


def _adapted(lent: PoolProxiedConnection) -> AsyncAdapt_asyncpg_connection:
    adapted = lent.dbapi_connection
    assert isinstance(adapted, AsyncAdapt_asyncpg_connection)  # noqa: S101
    return adapted


def _driver(lent: PoolProxiedConnection) -> Driver:
    driver = lent.driver_connection
    assert isinstance(driver, asyncpg.Connection)  # noqa: S101
    return driver
