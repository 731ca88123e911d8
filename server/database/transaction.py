"""Transactions: statements run on the driver's connection, compiled once; deferred ones are sent together."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from sqlalchemy import Executable, TextClause
from sqlmodel import SQLModel

from domain.ports import Rows
from models.statements import insert, values_of
from server.database.compile import CompiledStatement, Row, StatementCache

IN_THREAD = "in_thread"
"""The execution option of a statement that touches many rows: SQLite runs it outside the event loop."""

StatementHook = Callable[[str, Sequence[object]], AbstractContextManager[object]]
"""A function that returns the context manager in which a statement is executed, for its SQL and parameters."""


class Deferred(NamedTuple):
    """A statement to be executed later, and its values."""

    statement: Executable
    values: Mapping[str, object]


class Guard(NamedTuple):
    """A statement that must return a row before the deferred statements are executed."""

    deferred: Deferred
    error: type[Exception]


class Transaction(ABC):
    """A transaction of one database. Implements `domain.ports.Transaction`.

    As a context manager it closes itself: what was not committed is rolled back.
    """

    def __init__(self, dialect: Literal["sqlite", "postgresql"], statements: StatementCache) -> None:
        self.dialect: Literal["sqlite", "postgresql"] = dialect
        self.hook: StatementHook | None = None
        """Wraps the execution of each statement. While it is set, statements are not combined."""
        self._statements = statements
        self._guard: Guard | None = None
        self._deferred: list[Deferred] = []

    async def __aenter__(self) -> Self:
        """Return the transaction, which begins at its first statement."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Roll back what was not committed."""
        await self.close()

    async def execute(self, statement: Executable, /, **values: object) -> Rows:
        """Execute the deferred statements, then this one with the values of its parameters; return its rows."""
        await self.flush()
        return await self._execute(statement, values)

    async def execute_many(self, statement: Executable, values: Sequence[Mapping[str, object]]) -> None:
        """Execute the deferred statements, then this one for each mapping of values; all have the same keys."""
        await self.flush()
        if values:
            compiled = self._statements.compiled(statement, tuple(values[0]))
            await self._fetch_many(compiled.sql, [compiled.arguments(each) for each in values])

    def defer(self, statement: Executable, /, **values: object) -> None:
        """Add a statement to the deferred ones, which are executed before the next statement or with the commit."""
        self._deferred.append(Deferred(statement, values))

    def add(self, row: SQLModel) -> None:
        """Add the insertion of a row to the deferred statements."""
        self._deferred.append(Deferred(insert(type(row)), values_of(row)))

    def require(self, statement: Executable, error: type[Exception], /, **values: object) -> None:
        """Set the guard of the deferred statements: they are executed only if this statement returns a row.

        Otherwise, executing them raises `error`. A second guard replaces the first.
        """
        self._guard = Guard(Deferred(statement, values), error)

    async def flush(self) -> None:
        """Execute the guard and the deferred statements, if there are any."""
        if self._deferred or self._guard:
            await self._run_deferred(*self._take_deferred())

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Execute the block in a savepoint; if it raises an exception, undo the changes of the block."""
        await self.flush()
        await self._fetch("SAVEPOINT part", ())
        try:
            yield
            await self.flush()
        except Exception:
            self._take_deferred()
            await self._fetch("ROLLBACK TO SAVEPOINT part", ())
            raise
        await self._fetch("RELEASE SAVEPOINT part", ())

    async def start(self) -> None:
        """Begin the transaction now instead of at its first statement. Raises the errors of the driver."""
        await self._begun()

    @abstractmethod
    async def _begun(self) -> object:
        """Return the connection, on which the transaction has begun."""

    @abstractmethod
    async def commit(self) -> None:
        """Execute deferred statements, commit, and release the connection."""

    async def close(self) -> None:
        """Roll back what was not committed, and release the connection."""
        self._take_deferred()
        await self._end()

    @abstractmethod
    async def _end(self) -> None:
        """Roll back and release the connection, if one was acquired."""

    @abstractmethod
    async def _fetch(
        self, sql: str, arguments: Sequence[object], *, names: bool = False, in_thread: bool = False
    ) -> Sequence[Row]:
        """Execute a statement on the connection, and return the rows; begin the transaction if necessary.

        With `names` each row is a named tuple with the column names of the database.
        """

    @abstractmethod
    async def _fetch_many(self, sql: str, arguments: Sequence[Sequence[object]]) -> None:
        """Execute a statement on the connection once for each set of arguments."""

    def _compile(self, deferred: Deferred) -> CompiledStatement[Any]:
        return self._statements.compiled(deferred.statement, tuple(deferred.values))

    async def _execute(self, statement: Executable, values: Mapping[str, object]) -> Rows:
        compiled = self._statements.compiled(statement, tuple(values))
        arguments = compiled.arguments(values)
        in_thread = IN_THREAD in statement.get_execution_options()
        # The columns of a text are known to the database alone.
        names = isinstance(statement, TextClause)
        if self.hook is None:
            rows = await self._fetch(compiled.sql, arguments, names=names, in_thread=in_thread)
        else:
            with self.hook(compiled.sql, arguments):
                rows = await self._fetch(compiled.sql, arguments, names=names, in_thread=in_thread)
        return Rows(rows if names else map(compiled.result, rows))

    def _take_deferred(self) -> tuple[Guard | None, Sequence[Deferred]]:
        taken = self._guard, self._deferred
        self._guard, self._deferred = None, []
        return taken

    async def _run_deferred(self, guard: Guard | None, deferred: Sequence[Deferred]) -> None:
        if guard is not None and not await self._execute(*guard.deferred):
            raise guard.error
        for each in deferred:
            await self._execute(*each)
