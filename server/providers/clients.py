"""The clients of all providers of one service, over one HTTP client that is opened and closed with the service."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from server.clock import Clock
from server.providers.calls import Calls, make_client
from server.providers.client import ProviderClient, client_of
from server.providers.configuration import Configuration
from server.providers.watching import Watch
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients by the providers' ids."""

    clients: dict[str, ProviderClient]
    http: httpx.AsyncClient

    async def close(self) -> None:
        """End what is under way, and every connection."""
        for client in self.clients.values():
            await client.close()
        await self.http.aclose()


def clients_of(
    settings: Settings, configured: Mapping[str, Configuration], clock: Clock, watch: Watch
) -> Clients:
    """Give the clients of the providers that are configured."""
    http = make_client()
    calls = _calls(settings, http)
    return Clients({id_: client_of(one, calls, clock, watch) for id_, one in configured.items()}, http)


@asynccontextmanager
async def calls_of(settings: Settings) -> AsyncIterator[Calls]:
    """Give the calls of a command, bounded like those of the service."""
    async with make_client() as http:
        yield _calls(settings, http)


def _calls(settings: Settings, http: httpx.AsyncClient) -> Calls:
    return Calls(
        http,
        timeout=settings.oauth.http_timeout.total_seconds(),
        max_response=settings.oauth.max_response,
        loopback_http=settings.profile == "development",
    )
