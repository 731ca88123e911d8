"""How each database is connected to: SQLAlchemy engines with time-outs that hold whatever the server does.

One budget covers everything between a transaction's start and its first statement: the wait for a pooled
connection, for the network, and for SQLite's lock. It starts anew with each transaction of a `TimedSession`.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import AsyncAdaptedQueuePool, NullPool, PoolProxiedConnection
from sqlalchemy.util import await_, greenlet_spawn

from server import sqlite_connection

if TYPE_CHECKING:
    import asyncpg

Connect = Callable[[float], Awaitable["asyncpg.Connection[Any]"]]
"""Opens a PostgreSQL connection within the given number of seconds."""

_READS_ONLY = "gatewright_reads_only"
"""The execution option of a transaction that leaves SQLite's lock for writing to others."""

_SNAPSHOTS: dict[str, dict[str, Any]] = {
    "sqlite": {_READS_ONLY: True},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}

HAS_BEGUN = "gatewright_has_begun"
"""The option of a connection to SQLite that is in a transaction before SQLAlchemy hears of it."""

_started: ContextVar[float] = ContextVar("_started")
"""When (monotonic seconds) the transaction that now looks for a connection began to look."""


class CountedPool(AsyncAdaptedQueuePool):
    """A pool that knows how many wait for a connection, for one that is being opened too, and how many gave up."""

    waiting = 0
    timeouts = 0

    def connect(self) -> PoolProxiedConnection:
        """Give a connection. Raises SQLAlchemy's TimeoutError when none is free in time."""
        self.waiting += 1
        try:
            return super().connect()
        except PoolTimeout:
            self.timeouts += 1
            raise
        finally:
            self.waiting -= 1


class FairPool(CountedPool):
    """A pool of one connection that may also be borrowed without SQLAlchemy, in the order of coming."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Those who borrow wait here: SQLAlchemy's own queue makes a task and a greenlet for each who waits.
        self._turn = asyncio.Semaphore()

    async def borrow(self) -> PoolProxiedConnection:
        """Give the connection. Raises TimeoutError when it is not free in time."""
        self.waiting += 1
        try:
            async with asyncio.timeout(self.timeout()):
                await self._turn.acquire()
        except TimeoutError:
            self.timeouts += 1
            raise
        finally:
            self.waiting -= 1
        try:
            return await greenlet_spawn(self.connect)
        except BaseException:
            self._turn.release()
            raise

    def give_back(self, borrowed: PoolProxiedConnection) -> None:
        """Take the connection back."""
        try:
            borrowed.close()
        finally:
            self._turn.release()


class TimedSession(Session):
    """A session whose transactions note when they began to look for a connection."""

    join: Callable[[], Connection] | None = None
    """Gives the connection of a transaction that was begun without this session, should it be wanted here, too."""

    def get_bind(self, *arguments: Any, **named: Any) -> Engine | Connection:
        """Give what the next statement is executed by."""
        if self.join is not None:
            self.bind, self.join = self.join(), None
        return super().get_bind(*arguments, **named)


@event.listens_for(TimedSession, "after_transaction_create")
def note_start(*_: object) -> None:
    """Note that a transaction begins to look for a connection now."""
    _started.set(time.monotonic())


async def begin_snapshot(session: AsyncSession) -> None:
    """Begin a session's transaction so that to its end it sees the database as it is now; it may only read.

    Nobody waits for it, however long it lasts.
    """
    await session.connection(execution_options=_SNAPSHOTS[session.get_bind().dialect.name])


def remaining(timeout: float) -> float:
    """Give the seconds left to get a connection that may be used, out of `timeout`; never negative."""
    now = time.monotonic()
    return max(0.0, _started.get(now) + timeout - now)


def sqlite_engine(path: str, timeout: float) -> AsyncEngine:
    """Make the engine of a SQLite file; every transaction begins with the lock for writing, or fails after `timeout`,
    but for those of `begin_snapshot`.

    One connection: only one transaction can write anyway, and waiting for the pool is fair and costs nothing, whereas
    SQLite waits for its lock by sleeping and trying again. Who only reads uses `Database.reads`.
    """
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=path),
        connect_args={
            "timeout": timeout,
            "isolation_level": None,
            "async_creator_fn": sqlite_connection.connect,
        },
        poolclass=FairPool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=timeout,
        # Whoever gives the connection back has ended the transaction: SQLAlchemy's own, and `SqliteTransaction`.
        pool_reset_on_return=None,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "do_connect", lambda *_: _keep_private(path))
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", partial(_begin_sqlite, timeout))
    return engine


def _keep_private(path: str) -> None:
    """Make the file, if there is none, so that its owner alone reads the addresses and hashes in it; SQLite gives the
    files beside it the same permissions. A place where it cannot be made is reported when it is opened."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _prepare_sqlite(connection: Any, record: object) -> None:
    # SQLite's own function knows ASCII only; a search must find on both databases what it finds on one.
    connection.create_function("lower", 1, _lower, deterministic=True)
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _begin_sqlite(timeout: float, connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(HAS_BEGUN):
        return
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite_connection.Connection)  # noqa: S101
    reads_only = options.get(_READS_ONLY, False)
    if reads_only or not driver.begin_at_once():
        # What the pool's queue has taken is not waited for a second time at SQLite's lock.
        await_(driver.begin(remaining(timeout), reads_only=reads_only))


def postgresql_connect(dsn: str, timeout: float | None, *, pooled: bool = False, **settings: str) -> Connect:
    """Give what opens connections to a PostgreSQL server.

    Statements end after `timeout` seconds (None: never) twice over: the server gives up a little earlier and keeps the
    connection, and the client gives up when the server is past answering. `settings` are run-time parameters.

    Behind a pooler (`pooled`) the next transaction may be on another connection to the server: no parameters are set
    there, so that the client alone gives up, and no statement stays prepared, but is sent along with each execution.
    """
    parameters = {"application_name": "gatewright", **({} if pooled else settings)}
    if timeout is not None and not pooled:
        parameters["statement_timeout"] = str(int(timeout * 950))
    # asyncpg's default. Without its cache it names no statement, and parses each again in the message that executes it.
    prepared = 0 if pooled else 100

    # The driver is loaded by a service that has PostgreSQL: on SQLite, it would be for nothing.
    driver = import_module("asyncpg")

    async def connect(within: float) -> "asyncpg.Connection[Any]":
        opened: asyncpg.Connection[Any] = await driver.connect(
            dsn,
            timeout=within,
            command_timeout=timeout,
            server_settings=parameters,
            statement_cache_size=prepared,
        )
        return opened

    return connect


def postgresql_engine(connect: Connect, *, size: int, timeout: float) -> AsyncEngine:
    """Make an engine of at most `size` connections; to get one takes at most `timeout` seconds."""

    async def create() -> "asyncpg.Connection[Any]":
        return await connect(remaining(timeout))

    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=create,
        poolclass=CountedPool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=timeout,
        pool_use_lifo=True,
        # Rules lock what they change, so that a stricter default of the server would only make them fail and try again.
        isolation_level="READ COMMITTED",
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    event.listen(engine.sync_engine, "handle_error", _drop_unresponsive)
    return engine


def patient_postgresql_engine(dsn: str, within: float, *, pooled: bool) -> AsyncEngine:
    """Make an engine without pool and statement time-out, for migrations; connecting takes at most `within` seconds."""
    connect = postgresql_connect(dsn, None, pooled=pooled)
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=partial(connect, within), poolclass=NullPool
    )


def _refuse_closed(adapted: Any, record: object, proxy: object) -> None:
    # asyncpg knows when the server has closed a connection, so this costs no round trip, and a restart of the server
    # costs nobody a failed request once it is over.
    if adapted.driver_connection.is_closed():
        raise InvalidatePoolError


def _drop_unresponsive(context: ExceptionContext) -> None:
    # A server that let the client's time-out pass would let a rollback or an orderly farewell pass, too.
    if isinstance(context.original_exception, TimeoutError) and context.connection is not None:
        proxy = context.connection.connection
        if proxy.driver_connection is not None:
            proxy.driver_connection.terminate()
        context.is_disconnect = True
