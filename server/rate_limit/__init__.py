"""The stores of counters: the database, or a Valkey or Redis server."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

import structlog

from domain.errors import Unavailable
from domain.ports import Counters
from server.config.base import Settings
from server.config.groups.database import DatabaseSettings
from server.config.groups.limits import LimitSettings
from server.database.database import Database
from server.rate_limit.database import DatabaseCounters
from server.rate_limit.requests import SharedCounters

DATABASE = "database"
"""The value of `limits.store` that keeps the counters in the database."""

EVERY = 5.0
"""Seconds between two checks whether the Valkey or Redis server has lost its counters."""

__all__ = ["DATABASE", "EVERY", "Store", "check", "report_lost_counts", "store"]

_log = structlog.get_logger(__name__)


class Store(Counters, SharedCounters, Protocol):
    """The interface of a store of counters, for the request limit and for the limits that `domain` checks."""

    async def has_lost_counts(self) -> bool:
        """Return whether counts were lost since the last call. Raises Unavailable."""

    async def close(self) -> None:
        """Close the connections that the store has opened."""


def store(settings: Settings, database: Database) -> Store:
    """Return the store of counters that `limits.store` names, without connecting to it.

    The timeout of a Valkey or Redis server is `database.timeout`, or shorter. Raises ValueError for an invalid URL.
    """
    address = settings[LimitSettings].store.get_secret_value()
    return DatabaseCounters(database) if address == DATABASE else _other_server(settings)


def _other_server(settings: Settings) -> Store:
    # Imported only if it is used: the client library has half as much code as this service.
    from server.rate_limit.redis import RedisCounters  # noqa: PLC0415 - see above

    timeout = settings[DatabaseSettings].timeout.total_seconds()
    return RedisCounters(settings[LimitSettings].store.get_secret_value(), timeout)


def check(settings: Settings) -> Iterator[str]:
    """Yield the problem of `limits.store`, if it is not a valid URL; nothing is connected."""
    if settings[LimitSettings].store.get_secret_value() == DATABASE:
        return
    try:
        _other_server(settings)
    except ValueError:
        yield (
            "limits.store: is no address of a Valkey or Redis server, such as redis://127.0.0.1:6379/0, or"
            " redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/service/0"
        )


async def report_lost_counts(counters: Store, lost: Callable[[], None]) -> None:
    """Check whether the store has lost its counters since the last call; if so, log an error and call `lost`.

    Do nothing if the store is unavailable.
    """
    with contextlib.suppress(Unavailable):
        if await counters.has_lost_counts():
            _log.error("rate_limit.counts_lost")
            lost()
