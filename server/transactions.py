"""The transactions of rules: SQLAlchemy's session, and beside it a way for the few commands of hot transactions.

A `Command` is compiled once for each database. On PostgreSQL it goes the way of every statement, but without the ORM.
On SQLite a transaction that begins with a command goes without SQLAlchemy: with the lock for writing nothing can wait
any more, and a command takes microseconds, less than the way to a thread and back. What may take longer stays in the
connection's thread: to wait for the lock, and the commit, which writes to the disk.

Whatever else a rule asks of such a session happens in the same transaction, on the same connection.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import PoolProxiedConnection

from domain import ports
from models.commands import Command
from server import engines
from server.reads.plans import Row, decoder
from server.sqlite_connection import Connection as SqliteConnection

Result = TypeVar("Result")
_Step = tuple[str, Callable[[Any], Any] | None]


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Result]):
    """One command on one database."""

    sql: str
    steps: tuple[_Step, ...]
    """The names of the values in the order of the parameters, each with what the database wants done to it."""
    constants: Mapping[str, object]
    """The values that are part of the command."""
    result: Callable[[Row], Result]
    """The result in the columns of one row."""

    def arguments(self, values: Mapping[str, object]) -> tuple[object, ...]:
        """Give the parameters."""
        known = {**self.constants, **values}
        return tuple(
            [known[name] if process is None else process(known[name]) for name, process in self.steps]
        )


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
    steps = tuple(
        (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
        for name in compiled.positiontup
    )
    types = [column.type for column in statement.exported_columns]
    return Prepared(str(compiled), steps, constants, decoder(types, command.make, dialect))


class Transaction(ports.Transaction):
    """A session that runs commands by SQLAlchemy, without the ORM."""

    def __init__(self, bind: AsyncEngine, *, commands: Commands, **options: Any) -> None:
        super().__init__(bind, **options)
        self._commands = commands
        self._engine = bind.sync_engine
        assert isinstance(self.sync_session, engines.TimedSession)  # noqa: S101
        self._session = self.sync_session

    async def run(self, command: Command[Result], /, **values: object) -> list[Result]:
        """Run a command in this transaction; give its results."""
        prepared = self._commands[command]
        await self._write_pending()
        connection = await self.connection()
        done = await connection.exec_driver_sql(prepared.sql, prepared.arguments(values))
        return [prepared.result(row) for row in done] if done.returns_rows else []

    async def _write_pending(self) -> None:
        """Write what was added and changed before, as before every other statement."""
        if self.new or self.dirty or self.deleted:
            await self.flush()


class SqliteTransaction(Transaction):
    """A session that runs commands on the connection itself, as long as nothing else was asked of it.

    Who wants to hear of every statement hears of these, too: they go the common way then.
    """

    _lent: PoolProxiedConnection | None = None
    """The connection, in a transaction that a command has begun."""

    async def run(self, command: Command[Result], /, **values: object) -> list[Result]:
        """Run a command in this transaction; give its results."""
        if self.in_transaction() or self._engine.dispatch.before_cursor_execute:
            return await super().run(command, **values)
        if self._lent is None:
            self._lent = await self._begin()
        prepared = self._commands[command]
        try:
            rows = await _driver(self._lent).run(prepared.sql, prepared.arguments(values))
        except sqlite3.IntegrityError as error:
            raise IntegrityError(prepared.sql, None, error, hide_parameters=True) from error
        return [prepared.result(row) for row in rows]

    async def commit(self) -> None:
        """Commit what commands and everything else have written."""
        if self._lent is None or self.in_transaction():
            await super().commit()
        if self._lent is not None:
            driver = _driver(self._lent)
            if driver.in_transaction:
                await driver.commit()
            self._leave()

    async def rollback(self) -> None:
        """Undo what was not committed."""
        await super().rollback()
        self._leave()

    async def close(self) -> None:
        """Roll back what was not committed, and give the connection back."""
        try:
            if self.in_transaction() or self.identity_map:
                await super().close()
        finally:
            self._leave()

    def _leave(self) -> None:
        lent, self._lent = self._lent, None
        if lent is not None:
            self._session.bind, self._session.join = self._engine, None
            self._give_back(lent)

    async def _begin(self) -> PoolProxiedConnection:
        """Take the connection and begin; whatever else this session does happens on it from now on."""
        engines.note_start()
        pool = self._pool
        lent = await pool.borrow()
        try:
            driver = _driver(lent)
            if not driver.begin_at_once():
                await driver.begin(engines.remaining(pool.timeout()))
        except BaseException:
            self._give_back(lent)
            raise
        self._session.join = partial(_joined, self._engine, lent)
        return lent

    @property
    def _pool(self) -> engines.FairPool:
        pool = self._engine.pool
        assert isinstance(pool, engines.FairPool)  # noqa: S101
        return pool

    def _give_back(self, lent: PoolProxiedConnection) -> None:
        try:
            if lent.is_valid:
                _driver(lent).undo()
        finally:
            self._pool.give_back(lent)


def _joined(engine: Engine, lent: PoolProxiedConnection) -> Connection:
    return Connection(engine, lent).execution_options(**{engines.HAS_BEGUN: True})


def _driver(lent: PoolProxiedConnection) -> SqliteConnection:
    driver = lent.driver_connection
    assert isinstance(driver, SqliteConnection)  # noqa: S101
    return driver
