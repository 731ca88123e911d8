"""Transactions on PostgreSQL: each statement costs a round trip, so deferred statements are sent as one.

A transaction that has only deferred statements is sent as that one statement, without BEGIN and COMMIT.
"""

import time
from collections.abc import Awaitable, Coroutine, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Dialect,
    Insert,
    Select,
    Update,
    bindparam,
    exists,
    literal_column,
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import visitors

from server.database.compile import CompiledStatement, Row, StatementCache, compile_statement, named
from server.database.pool import Pool
from server.database.postgresql.engine import FAULTS, Driver
from server.database.transaction import Deferred, Guard, Transaction

MAX_COMBINED = 8
"""Maximum number of statements combined into one; the server prepares one statement per number."""

_UNLIMITED = 10 * 365 * 86_400.0  # defence: R46 commit-uncancelled
"""The driver's timeout in seconds for a commit: ten years, because the driver cancels a request at its timeout."""

_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Planned for the values of each search: a plan for values of average frequency, which PostgreSQL would use after some
# searches, reads all records to find those of a rare value, and sorts all those of a frequent one.
_BEGIN_SNAPSHOT = f"{_BEGIN_READING}; SET LOCAL plan_cache_mode = force_custom_plan"
# Without knowing the values PostgreSQL supposes that few rows match, and that sorting them costs little.
_BEGIN_PLANNED = "; SET LOCAL ".join(
    [_BEGIN_READING, "plan_cache_mode = force_generic_plan", "enable_seqscan = off", "enable_sort = off"]
)

Answer = TypeVar("Answer")
Part = tuple[Any, tuple[str, ...]]
"""A statement, and the names of its values."""


class PostgresqlTransaction(Transaction):
    """A transaction at READ COMMITTED, or one that reads a snapshot, on a connection of the pool."""

    def __init__(
        self,
        pool: Pool[Driver],
        timeout: float,
        statements: StatementCache,
        *,
        pooled: bool = False,
        reads_snapshot: bool = False,
        planned_once: bool = False,
    ) -> None:
        super().__init__("postgresql", statements)
        self._pool = pool
        self._timeout = timeout
        # Without BEGIN the isolation is the connection's default, which behind a pooler is the server's.
        self._needs_begin = pooled or reads_snapshot
        self._reads_snapshot = reads_snapshot
        self._begin = _BEGIN if not reads_snapshot else _BEGIN_PLANNED if planned_once else _BEGIN_SNAPSHOT
        self._connection: Driver | None = None
        self._has_begun = False
        self._is_broken = False
        """Whether the state of the connection is unknown."""

    async def commit(self) -> None:
        """Execute deferred statements, commit, and release the connection.

        If nothing was executed before, they are sent as one statement, which is a transaction of its own. Raises
        TimeoutError if the server does not respond in time; whether it has committed is then unknown.
        """
        is_one = self._connection is None and self.hook is None and not self._needs_begin
        if is_one and 0 < len(self._deferred) <= MAX_COMBINED:
            self._connection = connection = await self._acquire()
            guard, deferred = self._take_deferred()
            compiled, arguments = self._combine(guard, deferred)
            request = connection.fetch(compiled.sql, *arguments, timeout=_UNLIMITED)
            rows = await self._checked(self._committed(connection, request), compiled.sql)
            if guard is not None and not rows:
                raise guard.error
        await self.flush()
        if (begun := self._connection) is not None and self._has_begun:
            self._has_begun = False
            await self._checked(self._committed(begun, begun.execute("COMMIT", timeout=_UNLIMITED)))
        await self._end()

    async def _committed(self, connection: Driver, request: Coroutine[Any, Any, Answer]) -> Answer:
        """Return the response to a request that commits; without a response in time the pool keeps the connection."""
        try:
            return await self._pool.commit(connection, request, self._timeout)
        except BaseException:
            if self._pool.is_unanswered(connection):
                self._connection = None
            raise

    async def _fetch(
        self, sql: str, arguments: Sequence[object], *, names: bool = False, in_thread: bool = False
    ) -> Sequence[Row]:
        rows = await self._checked((await self._begun()).fetch(sql, *arguments), sql)
        return [*map(named(rows[0].keys()), rows)] if names and rows else rows

    async def _fetch_many(self, sql: str, arguments: Sequence[Sequence[object]]) -> None:
        await self._checked((await self._begun()).executemany(sql, arguments), sql)

    async def _run_deferred(self, guard: Guard | None, deferred: Sequence[Deferred]) -> None:
        if self.hook is None:
            await self._run_together(await self._begun(), guard, deferred)
        else:
            await super()._run_deferred(guard, deferred)

    async def _run_together(
        self, connection: Driver, guard: Guard | None, deferred: Sequence[Deferred]
    ) -> None:
        for start in range(0, max(1, len(deferred)), MAX_COMBINED):
            compiled, arguments = self._combine(guard, deferred[start : start + MAX_COMBINED])
            rows = await self._checked(connection.fetch(compiled.sql, *arguments), compiled.sql)
            if guard is not None and not rows:
                raise guard.error
            guard = None

    def _combine(
        self, guard: Guard | None, deferred: Sequence[Deferred]
    ) -> tuple[CompiledStatement[Any], Sequence[object]]:
        """Return one statement that combines all, and its arguments."""
        together = [*([] if guard is None else [guard.deferred]), *deferred]
        if len(together) == 1 and guard is None:
            compiled, values = self._compile(together[0]), together[0].values
        else:
            parts = tuple([(each.statement, tuple(each.values)) for each in together])
            compiled = combine_as_cte(parts, self._statements.dialect, is_guarded=guard is not None)
            values = {
                f"{place}_{name}": value
                for place, each in enumerate(together)
                for name, value in each.values.items()
            }
        return compiled, compiled.arguments(values)

    async def _acquire(self) -> Driver:
        # A request may search while its own transaction holds a connection.
        return await self._pool.acquire(time.monotonic() + self._timeout, from_reserve=self._reads_snapshot)

    async def _begun(self) -> Driver:
        """Return the connection, on which a transaction has begun."""
        if self._connection is None:
            self._connection = await self._acquire()
        if not self._has_begun:
            # Explicitly READ COMMITTED: rules lock what they change, and a stricter default would only cause retries.
            try:
                await self._connection.execute(self._begin)
            except BaseException:
                self._is_broken = True
                raise
            self._has_begun = True
        return self._connection

    async def _checked(self, request: Awaitable[Answer], sql: str = "") -> Answer:
        """Return the result; after any error that the server did not report, the connection is treated as broken.

        A read-only connection is dropped as well, because its server may no longer be the primary. Raises SQLAlchemy's
        IntegrityError.
        """
        try:
            return await request
        except asyncpg.IntegrityConstraintViolationError as error:
            # The details of the original error contain values.
            plain = type(error)(*error.args)
            raise IntegrityError(sql, None, plain, hide_parameters=True) from error
        except asyncpg.ReadOnlySQLTransactionError as error:
            self._is_broken = True
            self._pool.note_read_only(error)
            raise
        except asyncpg.PostgresError:
            raise
        except BaseException:
            # A server that did not respond within the client's timeout would not respond to a rollback either.
            self._is_broken = True
            raise

    async def _end(self) -> None:
        connection, self._connection = self._connection, None
        has_begun, self._has_begun = self._has_begun, False
        if connection is None:
            self._is_broken = False
            return
        try:
            if has_begun and not self._is_broken and not connection.is_closed():
                await self._checked(connection.execute("ROLLBACK"))
        except FAULTS:
            self._is_broken = True
        finally:
            self._pool.release(connection, drop=self._is_broken)
            self._is_broken = False


@lru_cache(maxsize=512)
def combine_as_cte(parts: tuple[Part, ...], dialect: Dialect, *, is_guarded: bool) -> CompiledStatement[Row]:
    """Combine independent statements into one by CTEs. The value `id` of the statement at index 1 is named `1_id`.

    If `is_guarded`, the first statement is the guard: the others are executed only if it returns a row. The combined
    statement returns a row if they were executed.
    """
    combined: Select[Any] = select(literal_column("1"))
    condition = None
    steps = [*enumerate(parts)]
    if is_guarded:
        place, (statement, names) = steps.pop(0)
        guard = _step(place, statement, names, None).cte("guard")
        combined = combined.select_from(guard)
        condition = exists(select(literal_column("1")).select_from(guard))
    ctes = [_step(place, *part, condition).cte(f"step{place}") for place, part in steps]
    names = tuple(f"{place}_{name}" for place, (_, names) in enumerate(parts) for name in names)
    return compile_statement(combined.add_cte(*ctes), dialect, names)


def _step(place: int, statement: Any, names: Sequence[str], condition: ColumnElement[bool] | None) -> Any:
    """Return a statement with its parameters renamed by its place, which does nothing unless the condition holds."""

    def rename(element: Any, **_: Any) -> Any:
        is_value = isinstance(element, BindParameter) and element.key in names
        return bindparam(f"{place}_{element.key}", type_=element.type) if is_value else None

    step: Any = visitors.replacement_traverse(statement, {}, rename)
    if not isinstance(statement, Insert | Update):
        return step if condition is None else step.where(condition)
    columns = statement.table.columns
    sets = {name: bindparam(f"{place}_{name}", type_=columns[name].type) for name in names if name in columns}
    if isinstance(statement, Update):
        return (step if condition is None else step.where(condition)).values(sets)
    # A SELECT, unlike VALUES, can have a condition.
    values = select(*sets.values())
    return step.from_select([*sets], values if condition is None else values.where(condition))
