"""Connections to PostgreSQL by asyncpg, with timeouts that hold even if the server hangs."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, TypeAlias

import asyncpg
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

# PostgreSQL counts timestamps from the year 2000, not from 1970.
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)

Driver: TypeAlias = "asyncpg.Connection[Any]"

APPLICATION = "gatewright"
"""The `application_name` of the service's sessions."""

FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""The driver's exceptions for a failed connection or statement; a timeout is an OSError."""

Connect = Callable[[float], Awaitable[Driver]]
"""Opens a PostgreSQL connection within the given number of seconds."""


def postgresql_connect(dsn: str, timeout: float | None, *, pooled: bool = False, **settings: str) -> Connect:
    """Return a function that opens connections to a PostgreSQL server.

    Statements have two timeouts: the server cancels them shortly before `timeout` seconds, which keeps the connection
    usable, and the client gives up after `timeout` seconds if the server hangs. If `timeout` is None, they have none.
    `settings` are run-time parameters of the server.

    Behind a pooler (`pooled`) the next transaction may use another connection to the server. Therefore no parameter
    but the application's name is set, so that only the client has a timeout, and statements are not prepared but sent
    with each execution.

    A standby is refused as a read-only server (25006), because a standby that lags behind shows revoked sessions. It
    reports its role while connecting, and a primary becomes a standby only by a restart, so open connections need no
    further check. A pooler may report an old role, so `/ready` queries it.
    """
    parameters = {"application_name": APPLICATION, **({} if pooled else settings)}
    if timeout is not None and not pooled:
        # Milliseconds, 95 % of the client's timeout: the server cancels first, and the connection stays usable.
        parameters["statement_timeout"] = str(int(timeout * 950))
    # 100 is asyncpg's default. With 0, asyncpg uses unnamed statements, which are parsed again at each execution.
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


def patient_postgresql_engine(
    dsn: str, within: float, *, pooled: bool, timeout: float | None = None
) -> AsyncEngine:
    """Create an engine without a pool. `within` limits connecting, `timeout` each statement, both in seconds.

    Without `timeout`, as for migrations, statements have no limit.
    """
    connect = postgresql_connect(dsn, timeout, pooled=pooled)
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=partial(connect, within), poolclass=NullPool
    )


def _is_standby(connection: Driver) -> bool:
    # Reported by PostgreSQL since version 14, which is the oldest that is supported.
    return getattr(connection.get_settings(), "in_hot_standby", "off") == "on"


async def decode_timestamps(connection: Driver) -> None:
    """Set a cached codec for a connection's timestamps, because each request of a session reads the same ones.

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
    """Return the time for PostgreSQL's binary format: microseconds since the beginning of the year 2000.

    A value out of range, such as `infinity`, becomes the last or the first possible time.
    """
    try:
        return _ZERO + sent[0] * _MICROSECOND
    except OverflowError:
        return _LAST if sent[0] > 0 else _FIRST


def _encode_timestamp(moment: datetime) -> tuple[int]:
    """Return a time in PostgreSQL's binary format."""
    return ((moment - _ZERO) // _MICROSECOND,)
