"""The transactions of rules: SQLAlchemy's session, and a direct path for the few write statements of hot transactions.

A `WriteStatement` is compiled once per database and executed without the ORM. A transaction that begins with one goes
without SQLAlchemy, on a connection of its pool: `server/database/sqlite/transaction.py` and
`server/database/postgresql/transaction.py` say how. Whatever else a rule asks of such a session happens in the same
transaction, on the same connection.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import PoolProxiedConnection

from domain import ports
from models.statements import WriteStatement
from server.database.compile import Row, decoder
from server.database.pool import CountingPool
from server.database.session import HAS_BEGUN, TimedSession

Result = TypeVar("Result")
_Values = Callable[[Mapping[str, object]], tuple[object, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledWrite(Generic[Result]):
    """A write statement compiled for one database."""

    sql: str
    parameters: int
    """How many there are."""
    pick: _Values
    """Gives the values in their order."""
    processed: tuple[tuple[int, Callable[[Any], Any]], ...]
    """The places of those with which the database wants something done, and what."""
    constants: Mapping[str, object]
    """The values that are part of the statement."""
    result: Callable[[Row], Result]
    """The result in the columns of one row."""
    inserts: bool
    """Whether it adds rows, and so has no WHERE."""

    def arguments(self, values: Mapping[str, object]) -> tuple[object, ...]:
        """Give the parameters."""
        picked = [*self.pick({**self.constants, **values} if self.constants else values)]
        for place, process in self.processed:
            picked[place] = process(picked[place])
        return tuple(picked)


class Deferred(NamedTuple):
    """A statement to be executed later, and its values."""

    statement: WriteStatement[Any]
    values: Mapping[str, object]


class Guard(NamedTuple):
    """A statement that must have a result before the deferred statements are executed."""

    deferred: Deferred
    error: type[Exception]


class StatementCache:
    """The write statements of one database, each compiled at its first use."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._compiled: dict[WriteStatement[Any], CompiledWrite[Any]] = {}

    def __getitem__(self, statement: WriteStatement[Result]) -> CompiledWrite[Result]:
        """Return the compiled form of a statement."""
        compiled = self._compiled.get(statement)
        if compiled is None:
            compiled = self._compiled[statement] = _compile(statement, self._dialect)
        return compiled


def _compile(statement: WriteStatement[Result], dialect: Dialect) -> CompiledWrite[Result]:
    executable: Any = statement.statement
    compiled = executable.compile(dialect=dialect, column_keys=list(statement.sets) or None)
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    names = compiled.positiontup
    kinds = [compiled.binds[name].type.dialect_impl(dialect) for name in names]
    processes = [kind.bind_processor(dialect) for kind in kinds]
    types = [column.type for column in getattr(executable, "exported_columns", ())]
    return CompiledWrite(
        str(compiled),
        len(names),
        _picking(names),
        tuple((place, process) for place, process in enumerate(processes) if process is not None),
        constants,
        decoder(types, statement.from_row, dialect),
        inserts=str(compiled).startswith("INSERT"),
    )


def _picking(names: Sequence[str]) -> _Values:
    """Give what gives the values of names: `itemgetter`, which gives a bare one for one name."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple([values[name] for name in names])


class Transaction(ports.Transaction):
    """A session that executes write statements by SQLAlchemy, without the ORM, unless its database has a shorter path.

    If an event listener observes statements, as tracing does, write statements are executed by SQLAlchemy as well.
    """

    _acquired: PoolProxiedConnection | None = None
    """The connection, in a transaction that a write statement has begun."""

    def __init__(self, bind: AsyncEngine, *, statements: StatementCache, **options: Any) -> None:
        # SQLAlchemy's session is created on demand: that costs as much as two write statements, which do without it.
        self._options = options
        self._bind = bind
        self._engine = bind.sync_engine
        self._statements = statements
        self._guard: Guard | None = None
        self._deferred: list[Deferred] = []

    def __getattr__(self, name: str) -> Any:
        """Make SQLAlchemy's session, of which something is wanted for the first time."""
        if name not in ("sync_session", "_proxied"):
            raise AttributeError(name)
        super().__init__(self._bind, **self._options)
        session = self._session
        session.flush_deferred = self._flush_deferred if self._deferred or self._guard else None
        session.use_connection = None if self._acquired is None else partial(self._wrap, self._acquired)
        return session

    @property
    def _session(self) -> TimedSession:
        session = self.sync_session
        assert isinstance(session, TimedSession)  # noqa: S101
        return session

    @property
    def _is_made(self) -> bool:
        """Whether SQLAlchemy's session was wanted so far."""
        return "sync_session" in vars(self)

    def defer(self, statement: WriteStatement[Any], /, **values: object) -> None:
        """Defer a statement to the next statement or the commit."""
        self._deferred.append(Deferred(statement, values))
        if self._is_made:
            self._session.flush_deferred = self._flush_deferred

    def require(self, statement: WriteStatement[Any], error: type[Exception], /, **values: object) -> None:
        """Execute deferred statements only if this one has a result; raise `error` if it has none."""
        self._guard = Guard(Deferred(statement, values), error)
        if self._is_made:
            self._session.flush_deferred = self._flush_deferred

    async def run(self, statement: WriteStatement[Result], /, **values: object) -> list[Result]:
        """Execute a statement in this transaction; return its results."""
        await self._flush_deferred()
        return await self._run(Deferred(statement, values))

    async def _flush_deferred(self) -> None:
        """Execute the guard and the deferred statements, if there are any."""
        if self._deferred or self._guard:
            await self._run_deferred(*self._take_deferred())

    def _take_deferred(self) -> tuple[Guard | None, Sequence[Deferred]]:
        taken = self._guard, self._deferred
        self._guard, self._deferred = None, []
        if self._is_made:
            self._session.flush_deferred = None
        return taken

    async def _run_deferred(self, guard: Guard | None, deferred: Sequence[Deferred]) -> None:
        if guard is not None and not await self._run(guard.deferred):
            raise guard.error
        for each in deferred:
            await self._run(each)

    async def _run(self, deferred: Deferred) -> list[Any]:
        """Execute a statement by SQLAlchemy, after flushing the session, as before every other statement."""
        compiled = self._statements[deferred.statement]
        if self.new or self.dirty or self.deleted:
            await self.flush()
        connection = await self.connection()
        done = await connection.exec_driver_sql(compiled.sql, compiled.arguments(deferred.values))
        return [compiled.result(row) for row in done] if done.returns_rows else []

    async def rollback(self) -> None:
        """Undo what was not committed."""
        self._take_deferred()
        if self._is_made:
            await super().rollback()
        await self._release_acquired()

    async def close(self) -> None:
        """Roll back what was not committed, and release the connection."""
        self._take_deferred()
        try:
            if self._is_made and (self._is_shared or self.identity_map):
                await super().close()
        finally:
            await self._release_acquired()

    @property
    def _runs_directly(self) -> bool:
        """Whether only write statements were executed, and no listener observes statements."""
        return not (self._is_shared or self._engine.dispatch.before_cursor_execute)

    @property
    def _is_shared(self) -> bool:
        """Whether SQLAlchemy's session is in this transaction, too."""
        return self._is_made and self.in_transaction()

    @property
    def _pool(self) -> CountingPool:
        pool = self._engine.pool
        assert isinstance(pool, CountingPool)  # noqa: S101
        return pool

    def _use(self, acquired: PoolProxiedConnection) -> None:
        """Use an acquired connection, on which a transaction has begun, for all statements of this session."""
        self._acquired = acquired
        if self._is_made:
            self._session.use_connection = partial(self._wrap, acquired)

    def _wrap(self, acquired: PoolProxiedConnection) -> Connection:
        return Connection(self._engine, acquired).execution_options(**{HAS_BEGUN: True})

    async def _release_acquired(self) -> None:
        acquired = self._detach()
        if acquired is not None:
            await self._release(acquired)

    async def _release(self, acquired: PoolProxiedConnection) -> None:
        """Release a connection to the pool, with no transaction on it."""
        self._pool.release(acquired)

    def _detach(self) -> PoolProxiedConnection | None:
        """Detach and return the acquired connection, if there is one."""
        acquired, self._acquired = self._acquired, None
        if acquired is not None and self._is_made:
            self._session.bind, self._session.use_connection = self._engine, None
        return acquired
