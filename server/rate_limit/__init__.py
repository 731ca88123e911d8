"""The stores of counters: the database, or a Valkey or Redis server."""

from collections.abc import Callable, Iterator
from typing import Protocol

from domain.ports import Counters
from server.config.settings import Settings
from server.database.database import Database
from server.rate_limit.database import DatabaseCounters
from server.rate_limit.requests import SharedCounters

DATABASE = "database"
"""The value of `limits.store` without another server."""

__all__ = ["DATABASE", "Store", "check", "store"]


class Store(Counters, SharedCounters, Protocol):
    """The counters for the rules and for the request limit."""

    async def close(self) -> None:
        """End its own connections."""


def store(settings: Settings, opened: Callable[[], Database]) -> Store:
    """Return the store that `limits.store` names; `opened` gives the database once it is open.

    Another server has as long for an answer as the database, or less. Raises ValueError for an address that is none.
    """
    address, timeout = settings.limits.store.get_secret_value(), settings.database.timeout
    if address == DATABASE:
        return DatabaseCounters(opened)
    # The client of another server is loaded where there is one: it is as much code as half of this service.
    from server.rate_limit.redis import RedisCounters  # noqa: PLC0415 - see above

    return RedisCounters(address, timeout.total_seconds())


def check(settings: Settings) -> Iterator[str]:
    """Yield what is wrong with `limits.store`, without a connection to it."""
    try:
        store(settings, _no_database)
    except ValueError:
        yield "limits.store: is no address of a Valkey or Redis server, such as redis://127.0.0.1:6379/0"


def _no_database() -> Database:
    raise AssertionError("nothing is counted here")
