"""The providers of one service, if it has any: what speaks with them is loaded only then."""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from domain.providers import Provider
from server.clock import Clock
from server.providers.configuration import configurations
from server.providers.watching import NOBODY, Watch
from server.settings import Settings


class Providers(Protocol):
    """What a service knows of its providers."""

    @property
    def clients(self) -> Mapping[str, Provider]:
        """Give the clients by the providers' ids."""

    async def close(self) -> None:
        """End what is under way, and every connection."""


class NoProviders:
    """A service without."""

    clients: Mapping[str, Provider] = {}

    async def close(self) -> None:
        """Do nothing."""


def providers_of(settings: Settings, clock: Clock, watch: Watch = NOBODY) -> Providers:
    """Give the providers of complete settings; nothing is asked of any before somebody signs in."""
    configured = configurations(settings)
    if not configured:
        return NoProviders()
    # An HTTP client and the keys and tokens of OpenID Connect are a tenth of the time and the memory of a start.
    made: Providers = import_module("server.providers.clients").clients_of(settings, configured, clock, watch)
    return made
