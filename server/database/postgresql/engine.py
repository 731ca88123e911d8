"""The driver of PostgreSQL, and how a server is connected to, with time-outs that hold whatever the server does."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, TypeAlias

import asyncpg
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)

Driver: TypeAlias = "asyncpg.Connection[Any]"

APPLICATION = "gatewright"
"""What the server calls the sessions of the service."""

FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""The driver's exceptions for a failed connection or statement; a timeout is an OSError."""

Connect = Callable[[float], Awaitable[Driver]]
"""Opens a PostgreSQL connection within the given number of seconds."""


def postgresql_connect(dsn: str, timeout: float | None, *, pooled: bool = False, **settings: str) -> Connect:
    """Return what opens connections to a PostgreSQL server.

    Statements end after `timeout` seconds (None: never) twice over: the server gives up a little earlier and keeps the
    connection, and the client gives up when the server is past answering. `settings` are run-time parameters.

    Behind a pooler (`pooled`) the next transaction may be on another connection to the server: no parameters are set
    there, so that the client alone gives up, and no statement stays prepared, but is sent along with each execution.

    A standby is refused as a read-only server (25006): one that lags behind shows sessions that were revoked. It says
    what it is while connecting, and a primary becomes one by a restart only, so no connection need be asked again. What
    a pooler says of that may be old, so `/ready` asks.
    """
    parameters = {"application_name": APPLICATION, **({} if pooled else settings)}
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


def patient_postgresql_engine(dsn: str, within: float, *, pooled: bool) -> AsyncEngine:
    """Make an engine without pool and statement time-out, for migrations; connecting takes at most `within` seconds."""
    connect = postgresql_connect(dsn, None, pooled=pooled)
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=partial(connect, within), poolclass=NullPool
    )


def _is_standby(connection: Driver) -> bool:
    # Reported by PostgreSQL since version 14, which is the oldest that is supported.
    return getattr(connection.get_settings(), "in_hot_standby", "off") == "on"


async def decode_timestamps(connection: Driver) -> None:
    """Set the codec of a connection's timestamps. The last ones are cached: each request of a session reads the same.

    The codec needs no query.
    """
    await connection.set_type_codec(
        "timestamptz",
        schema="pg_catalog",
        format="tuple",
        encoder=_encode_timestamp,
        decoder=_decode_timestamp,
    )


@lru_cache(maxsize=4096)
def _decode_timestamp(sent: tuple[int]) -> datetime:
    """Return the instant so many microseconds after the beginning of the year 2000, as PostgreSQL counts them.

    What no calendar has, such as its `infinity`, is the last or the first instant there is.
    """
    try:
        return _ZERO + sent[0] * _MICROSECOND
    except OverflowError:
        return _LAST if sent[0] > 0 else _FIRST


def _encode_timestamp(moment: datetime) -> tuple[int]:
    """Return an instant as PostgreSQL wants it."""
    return ((moment - _ZERO) // _MICROSECOND,)
