"""Social sign-in: the clients of the configured identity providers."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from domain.identity_provider import IdentityProviders
from server.clock import Clock
from server.components.component import Component, Core
from server.config.base import Settings
from server.identity_providers import validation
from server.identity_providers.configuration import configurations
from server.identity_providers.instrumentation import NO_INSTRUMENTATION, Instrumentation


@dataclass(frozen=True, slots=True)
class Providers:
    """The clients of the configured identity providers, with the connections that `close` closes."""

    clients: IdentityProviders
    ends: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def close(self) -> None:
        """Cancel running requests to the providers, and close all connections."""
        await self.ends.aclose()


def providers_of(
    settings: Settings, clock: Clock, instrumentation: Instrumentation = NO_INSTRUMENTATION
) -> Providers:
    """Return the clients of the configured identity providers; no provider is called before a user signs in."""
    configured = configurations(settings)
    if not configured:
        return Providers(IdentityProviders())
    # An HTTP client and the keys and tokens of OpenID Connect are a tenth of the time and the memory of a start.
    from server.identity_providers import client, http_client  # noqa: PLC0415 - see above

    http, ends = http_client.make_client(), AsyncExitStack()
    ends.push_async_callback(http.aclose)
    calls = http_client.calls_by(settings, http)
    clients = {id_: client.client_of(one, calls, clock, instrumentation) for id_, one in configured.items()}
    for opened in clients.values():
        ends.push_async_callback(opened.close)
    return Providers(IdentityProviders(clients), ends)


class Social(Component):
    """The component that registers the clients of the configured identity providers. They share one HTTP client."""

    def __init__(self, core: Core) -> None:
        self._providers = providers_of(core.settings, core.clock, Instrumentation(core.metrics, core.span))
        core.port.add(IdentityProviders, self._providers.clients)

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the problems of the configured identity providers."""
        return validation.check(settings)

    async def close(self) -> None:
        """Cancel running requests to the providers, and close all connections."""
        await self._providers.close()
