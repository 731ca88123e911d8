"""Transactions on PostgreSQL: each statement costs a round trip, so deferred statements are sent as one.

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

from server.database import pool
from server.database.postgresql.engine import Driver
from server.database.transaction import CompiledWrite, Deferred, Guard, Transaction

TOGETHER = 8
"""The most write statements combined into one: the server prepares a statement for each number of them."""

Answer = TypeVar("Answer")
_PARAMETER = re.compile(r"\$(\d+)")


class PostgresqlTransaction(Transaction):
    """A session that executes write statements on the driver's connection, as long as the ORM is not used."""

    def __init__(self, *arguments: Any, pooled: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # The isolation of what has no BEGIN is the connection's own, and behind a pooler that is the server's choice.
        self._wants_begin = pooled
        self._is_broken = False
        """Whether the state of the acquired connection is unknown."""

    async def _run(self, deferred: Deferred) -> list[Any]:
        if not self._runs_directly:
            return await super()._run(deferred)
        compiled = self._statements[deferred.statement]
        rows = await self._fetch(
            await self._begin_directly(), compiled.sql, compiled.arguments(deferred.values)
        )
        return [compiled.result(row) for row in rows]

    async def _run_deferred(self, guard: Guard | None, deferred: Sequence[Deferred]) -> None:
        if self._runs_directly:
            await self._run_together(await self._begin_directly(), guard, deferred)
        else:
            await super()._run_deferred(guard, deferred)

    async def _run_together(
        self, acquired: PoolProxiedConnection, guard: Guard | None, deferred: Sequence[Deferred]
    ) -> None:
        guards = [] if guard is None else [guard.deferred]
        asked = [
            (self._statements[statement], values) for statement, values in (*guards, *deferred[:TOGETHER])
        ]
        sql = combine_as_cte(tuple([compiled for compiled, _ in asked]), is_guarded=guard is not None)
        arguments = [value for compiled, values in asked for value in compiled.arguments(values)]
        met = await self._fetch(acquired, sql, arguments)
        if guard is not None and not met:
            raise guard.error
        if deferred[TOGETHER:]:
            await self._run_together(acquired, None, deferred[TOGETHER:])

    async def commit(self) -> None:
        """Commit what write statements and the ORM have written."""
        if self._is_one_statement:
            self._acquired = await self._acquire()
            await self._run_together(self._acquired, *self._take_deferred())
        await self._flush_deferred()
        if self._is_shared:
            await super().commit()
        if self._acquired is not None:
            await self._commit(_adapted(self._acquired))
            await self._release_acquired()

    @property
    def _is_one_statement(self) -> bool:
        is_untouched = self._acquired is None and self._runs_directly and not self._wants_begin
        return is_untouched and 0 < len(self._deferred) <= TOGETHER

    async def _commit(self, adapted: AsyncAdapt_asyncpg_connection) -> None:
        transaction, adapted._transaction = adapted._transaction, None
        if transaction is not None:
            await self._checked(transaction.commit())

    async def _begin_directly(self) -> PoolProxiedConnection:
        """Give the connection, on which a transaction has begun; SQLAlchemy's adapter is told of it, too."""
        if self._acquired is None:
            self._use(await self._acquire())
            assert self._acquired is not None  # noqa: S101
            await self._checked(_adapted(self._acquired)._start_transaction())
        return self._acquired

    async def _acquire(self) -> PoolProxiedConnection:
        pool.note_start()
        while True:
            acquired = await self._pool.acquire()
            if not _driver(acquired).is_closed():  # defence: R1 closed-connection
                return acquired
            await self._release(acquired)

    async def _fetch(
        self, acquired: PoolProxiedConnection, sql: str, arguments: Sequence[object]
    ) -> Sequence[Any]:
        try:
            return await self._checked(_driver(acquired).fetch(sql, *arguments))
        except asyncpg.IntegrityConstraintViolationError as error:
            # Its details would show values.
            plain = type(error)(*error.args)
            raise IntegrityError(sql, None, plain, hide_parameters=True) from error

    async def _checked(self, request: Awaitable[Answer]) -> Answer:
        """Return the result; after any error that the server did not report, the connection is treated as broken.

        One that can only be read is dropped as well: its server may be a primary no more.
        """
        try:
            return await request
        except asyncpg.ReadOnlySQLTransactionError:
            self._is_broken = True
            raise
        except asyncpg.PostgresError:
            raise
        except BaseException as fault:
            self._is_broken = True
            if isinstance(fault, TimeoutError) and self._acquired is not None:
                # A server that let the client's time-out pass would let an orderly farewell pass, too.
                _driver(self._acquired).terminate()
            raise

    async def _release(self, acquired: PoolProxiedConnection) -> None:
        try:
            if acquired.is_valid:
                await self._end(acquired)
        finally:
            self._is_broken = False
            self._pool.release(acquired)

    async def _end(self, acquired: PoolProxiedConnection) -> None:
        """End the transaction, if there still is one, and the connection, if it is worth nothing any more."""
        adapted, driver = _adapted(acquired), _driver(acquired)
        transaction, adapted._transaction = adapted._transaction, None
        try:
            if transaction is not None and not self._is_broken and not driver.is_closed():
                await self._checked(transaction.rollback())
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            self._is_broken = True
        finally:
            if self._is_broken or driver.is_closed():
                await greenlet_spawn(acquired.invalidate)


@lru_cache(maxsize=512)
def combine_as_cte(statements: tuple[CompiledWrite[Any], ...], *, is_guarded: bool) -> str:
    """Combine independent write statements, with all their parameters, into one by CTEs.

    With a guard, which comes first, the others are executed after it, and only if it has a result; the combined
    statement then returns a row.
    """
    if len(statements) == 1 and not is_guarded:
        return statements[0].sql
    parts, shift = [], 0
    for place, compiled in enumerate(statements):
        sql = _guarded_sql(compiled) if is_guarded and place else compiled.sql
        sql = _PARAMETER.sub(lambda found, by=shift: f"${int(found[1]) + by}", sql)  # type: ignore[misc]
        parts.append(f"step{place} AS ({sql})")
        shift += compiled.parameters
    steps = ", ".join(parts)
    return f"WITH {steps} SELECT 1" + (" FROM step0" if is_guarded else "")  # noqa: S608 - no value is in it


def _guarded_sql(compiled: CompiledWrite[Any]) -> str:
    """Return the SQL of a statement that does nothing unless the guard has a result."""
    if not compiled.inserts:
        changing, returning, columns = compiled.sql.partition(" RETURNING ")
        return f"{changing} AND EXISTS (SELECT FROM step0){returning}{columns}"
    # A SELECT, unlike VALUES, can have a condition.
    adding, conflict, update = compiled.sql.partition(" ON CONFLICT ")
    columns, _, values = adding.removesuffix(")").partition(" VALUES (")
    return f"{columns} SELECT {values} WHERE EXISTS (SELECT FROM step0){conflict}{update}"  # noqa: S608 - no value


def _adapted(acquired: PoolProxiedConnection) -> AsyncAdapt_asyncpg_connection:
    adapted = acquired.dbapi_connection
    assert isinstance(adapted, AsyncAdapt_asyncpg_connection)  # noqa: S101
    return adapted


def _driver(acquired: PoolProxiedConnection) -> Driver:
    driver = acquired.driver_connection
    assert isinstance(driver, asyncpg.Connection)  # noqa: S101
    return driver
