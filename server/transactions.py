"""The transactions of rules: SQLAlchemy's session, and beside it a way for the few commands of hot transactions.

A `Command` is compiled once for each database, and goes without the ORM. A transaction that begins with a command goes
without SQLAlchemy at all, on a connection of its pool: `server/sqlite_transactions.py` and
`server/postgresql_transactions.py` say how. Whatever else a rule asks of such a session happens in the same
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
from models.commands import Command
from server.engines import HAS_BEGUN, TimedSession
from server.pools import LendingPool
from server.reads.plans import Row, decoder

Result = TypeVar("Result")
_Values = Callable[[Mapping[str, object]], tuple[object, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared(Generic[Result]):
    """One command on one database."""

    sql: str
    parameters: int
    """How many there are."""
    pick: _Values
    """Gives the values in their order."""
    processed: tuple[tuple[int, Callable[[Any], Any]], ...]
    """The places of those with which the database wants something done, and what."""
    constants: Mapping[str, object]
    """The values that are part of the command."""
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


class Filed(NamedTuple):
    """A command that is to be run, and its values."""

    command: Command[Any]
    values: Mapping[str, object]


class Demand(NamedTuple):
    """What must have a result before anything else happens."""

    filed: Filed
    otherwise: type[Exception]


class Commands:
    """The commands of one database, each compiled at its first use."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._prepared: dict[Command[Any], Prepared[Any]] = {}

    def __getitem__(self, command: Command[Result]) -> Prepared[Result]:
        """Give a command as this database takes it."""
        prepared = self._prepared.get(command)
        if prepared is None:
            prepared = self._prepared[command] = _prepare(command, self._dialect)
        return prepared


def _prepare(command: Command[Result], dialect: Dialect) -> Prepared[Result]:
    statement: Any = command.statement
    compiled = statement.compile(dialect=dialect, column_keys=list(command.sets) or None)
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    names = compiled.positiontup
    kinds = [compiled.binds[name].type.dialect_impl(dialect) for name in names]
    processes = [kind.bind_processor(dialect) for kind in kinds]
    types = [column.type for column in getattr(statement, "exported_columns", ())]
    return Prepared(
        str(compiled),
        len(names),
        _picking(names),
        tuple((place, process) for place, process in enumerate(processes) if process is not None),
        constants,
        decoder(types, command.make, dialect),
        inserts=str(compiled).startswith("INSERT"),
    )


def _picking(names: Sequence[str]) -> _Values:
    """Give what gives the values of names: `itemgetter`, which gives a bare one for one name."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple([values[name] for name in names])


class Transaction(ports.Transaction):
    """A session that runs commands by SQLAlchemy, without the ORM, unless its database knows a shorter way.

    Who wants to hear of every statement hears of those of commands, too: they go SQLAlchemy's way then.
    """

    _lent: PoolProxiedConnection | None = None
    """The connection, in a transaction that a command has begun."""

    def __init__(self, bind: AsyncEngine, *, commands: Commands, **options: Any) -> None:
        # SQLAlchemy's session is made when it is wanted: that takes as long as two commands, which do without it.
        self._options = options
        self._bind = bind
        self._engine = bind.sync_engine
        self._commands = commands
        self._demand: Demand | None = None
        self._filed: list[Filed] = []

    def __getattr__(self, name: str) -> Any:
        """Make SQLAlchemy's session, of which something is wanted for the first time."""
        if name not in ("sync_session", "_proxied"):
            raise AttributeError(name)
        super().__init__(self._bind, **self._options)
        session = self._session
        session.settle = self._settle if self._filed or self._demand else None
        session.join = None if self._lent is None else partial(self._joined, self._lent)
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

    def file(self, command: Command[Any], /, **values: object) -> None:
        """Have a command run with what comes next, or by the commit."""
        self._filed.append(Filed(command, values))
        if self._is_made:
            self._session.settle = self._settle

    def demand(self, command: Command[Any], otherwise: type[Exception], /, **values: object) -> None:
        """Let what is filed happen only if the command has a result; raise `otherwise` if it has none."""
        self._demand = Demand(Filed(command, values), otherwise)
        if self._is_made:
            self._session.settle = self._settle

    async def run(self, command: Command[Result], /, **values: object) -> list[Result]:
        """Run a command in this transaction; give its results."""
        await self._settle()
        return await self._run(Filed(command, values))

    async def _settle(self) -> None:
        """Run what waits to be run."""
        if self._filed or self._demand:
            await self._run_filed(*self._take_filed())

    def _take_filed(self) -> tuple[Demand | None, Sequence[Filed]]:
        taken = self._demand, self._filed
        self._demand, self._filed = None, []
        if self._is_made:
            self._session.settle = None
        return taken

    async def _run_filed(self, demand: Demand | None, filed: Sequence[Filed]) -> None:
        if demand is not None and not await self._run(demand.filed):
            raise demand.otherwise
        for each in filed:
            await self._run(each)

    async def _run(self, filed: Filed) -> list[Any]:
        """Run a command by SQLAlchemy, after what was added and changed before, as before every other statement."""
        prepared = self._commands[filed.command]
        if self.new or self.dirty or self.deleted:
            await self.flush()
        connection = await self.connection()
        done = await connection.exec_driver_sql(prepared.sql, prepared.arguments(filed.values))
        return [prepared.result(row) for row in done] if done.returns_rows else []

    async def rollback(self) -> None:
        """Undo what was not committed."""
        self._take_filed()
        if self._is_made:
            await super().rollback()
        await self._part()

    async def close(self) -> None:
        """Roll back what was not committed, and give the connection back."""
        self._take_filed()
        try:
            if self._is_made and (self._is_shared or self.identity_map):
                await super().close()
        finally:
            await self._part()

    @property
    def _goes_alone(self) -> bool:
        """Whether nothing but commands was asked for, and nobody watches."""
        return not (self._is_shared or self._engine.dispatch.before_cursor_execute)

    @property
    def _is_shared(self) -> bool:
        """Whether SQLAlchemy's session is in this transaction, too."""
        return self._is_made and self.in_transaction()

    @property
    def _pool(self) -> LendingPool:
        pool = self._engine.pool
        assert isinstance(pool, LendingPool)  # noqa: S101
        return pool

    def _lend(self, lent: PoolProxiedConnection) -> None:
        """Take a connection on which a transaction has begun; whatever this session does happens on it from now on."""
        self._lent = lent
        if self._is_made:
            self._session.join = partial(self._joined, lent)

    def _joined(self, lent: PoolProxiedConnection) -> Connection:
        return Connection(self._engine, lent).execution_options(**{HAS_BEGUN: True})

    async def _part(self) -> None:
        lent = self._leave()
        if lent is not None:
            await self._give_back(lent)

    async def _give_back(self, lent: PoolProxiedConnection) -> None:
        """Give a connection back to the pool, with nothing under way on it."""
        self._pool.give_back(lent)

    def _leave(self) -> PoolProxiedConnection | None:
        """Give the connection that was lent, if one was, of which this session knows nothing any more."""
        lent, self._lent = self._lent, None
        if lent is not None and self._is_made:
            self._session.bind, self._session.join = self._engine, None
        return lent
