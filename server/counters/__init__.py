"""Where is counted: in the database, or in a Valkey or Redis server (behaviour 10.2)."""

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from domain.ports import Counters
from server.counters.database import DatabaseCounters
from server.database import Database
from server.pipeline.limiter import Shared
from server.settings import Settings

DATABASE = "database"
"""What `limits.store` says when there is no other server."""

__all__ = ["DATABASE", "Store", "store"]


class Store(Counters, Shared, Protocol):
    """What counts for the rules and for the limit of requests."""

    async def close(self) -> None:
        """End its own connections."""


def store(settings: Settings, opened: Callable[[], Database]) -> Store:
    """Give the store that `limits.store` names; `opened` gives the database once it is open.

    Another server has as long for an answer as the database, or less. Raises ValueError for an address that is none.
    """
    address, timeout = settings.limits.store.get_secret_value(), settings.database.timeout
    if address == DATABASE:
        return DatabaseCounters(opened)
    # The client of another server is loaded where there is one: it is as much code as half of this service.
    counters: Store = import_module("server.counters.redis").RedisCounters(address, timeout.total_seconds())
    return counters
