"""The driver of PostgreSQL, and how a server is connected to, with time-outs that hold whatever the server does.

Only a service that has PostgreSQL loads this module, and with it the driver.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import asyncpg
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from server.database.errors import is_read_only
from server.database.pool import CountingPool, remaining

Driver: TypeAlias = "asyncpg.Connection[Any]"

FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What the driver raises when it cannot connect, or a statement fails; a time-out is an OSError."""

Connect = Callable[[float], Awaitable[Driver]]
"""Opens a PostgreSQL connection within the given number of seconds."""


def postgresql_connect(dsn: str, timeout: float | None, *, pooled: bool = False, **settings: str) -> Connect:
    """Give what opens connections to a PostgreSQL server.

    Statements end after `timeout` seconds (None: never) twice over: the server gives up a little earlier and keeps the
    connection, and the client gives up when the server is past answering. `settings` are run-time parameters.

    Behind a pooler (`pooled`) the next transaction may be on another connection to the server: no parameters are set
    there, so that the client alone gives up, and no statement stays prepared, but is sent along with each execution.

    A standby is refused as a read-only server (25006): one that lags behind shows sessions that were revoked. It says
    what it is while connecting, and a primary becomes one by a restart only, so no connection need be asked again. What
    a pooler says of that may be old, so `/ready` asks.
    """
    parameters = {"application_name": "gatewright", **({} if pooled else settings)}
    if timeout is not None and not pooled:
        parameters["statement_timeout"] = str(int(timeout * 950))
    # asyncpg's default. Without its cache it names no statement, and parses each again in the message that executes it.
    prepared = 0 if pooled else 100

    async def connect(within: float) -> Driver:
        opened: Driver = await asyncpg.connect(
            dsn,
            timeout=within,
            command_timeout=timeout,
            server_settings=parameters,
            statement_cache_size=prepared,
        )
        if not pooled and _is_standby(opened):
            opened.terminate()
            raise asyncpg.ReadOnlySQLTransactionError("the server is a standby, which is not to be used")
        return opened

    return connect


def postgresql_engine(connect: Connect, *, size: int, timeout: float) -> AsyncEngine:
    """Make an engine of at most `size` connections; to get one takes at most `timeout` seconds."""

    async def create() -> Driver:
        return await connect(remaining(timeout))

    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=create,
        poolclass=CountingPool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=timeout,
        pool_use_lifo=True,
        # Rules lock what they change, so that a stricter default of the server would only make them fail and try again.
        isolation_level="READ COMMITTED",
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    event.listen(engine.sync_engine, "handle_error", _drop_unusable)
    return engine


def patient_postgresql_engine(dsn: str, within: float, *, pooled: bool) -> AsyncEngine:
    """Make an engine without pool and statement time-out, for migrations; connecting takes at most `within` seconds."""
    connect = postgresql_connect(dsn, None, pooled=pooled)
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=partial(connect, within), poolclass=NullPool
    )


def _is_standby(connection: Driver) -> bool:
    # Reported by PostgreSQL since version 14, which is the oldest that is supported.
    return getattr(connection.get_settings(), "in_hot_standby", "off") == "on"


def _refuse_closed(adapted: Any, record: object, proxy: object) -> None:
    # asyncpg knows when the server has closed a connection, so this costs no round trip, and a restart of the server
    # costs nobody a failed request once it is over.
    if adapted.driver_connection.is_closed():
        raise InvalidatePoolError


def _drop_unusable(context: ExceptionContext) -> None:
    # A server that let the client's time-out pass would let a rollback or an orderly farewell pass, too, and one that
    # can only be read may be a primary no more. Of a connection with an error within the driver nobody knows anything.
    original = context.original_exception
    is_silent = isinstance(original, TimeoutError | asyncpg.InternalClientError)
    if context.connection is None or not (is_silent or is_read_only(original)):
        return
    proxy = context.connection.connection
    if is_silent and proxy.driver_connection is not None:
        proxy.driver_connection.terminate()
    context.is_disconnect = True
