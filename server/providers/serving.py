"""All providers of one service: their clients, over one HTTP client that is opened and closed with the service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from server.clock import Clock
from server.providers.calls import Calls, make_client
from server.providers.client import NOBODY, ProviderClient, Watch, client_of
from server.providers.configuration import configurations
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Providers:
    """The clients by the providers' ids; `http` is None when no provider is configured."""

    clients: dict[str, ProviderClient]
    http: httpx.AsyncClient | None

    async def close(self) -> None:
        """End what is under way, and every connection."""
        for client in self.clients.values():
            await client.close()
        if self.http is not None:
            await self.http.aclose()


def providers_of(settings: Settings, clock: Clock, watch: Watch = NOBODY) -> Providers:
    """Give the providers of complete settings; nothing is asked of any before somebody signs in."""
    configured = configurations(settings)
    if not configured:
        return Providers({}, None)
    http = make_client()
    calls = _calls(settings, http)
    return Providers({id_: client_of(one, calls, clock, watch) for id_, one in configured.items()}, http)


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
