"""Social sign-in: the clients of the configured identity providers."""

from collections.abc import Iterator

from domain.identity_provider import IdentityProviders
from server.components.component import Component, Core
from server.config.base import Settings
from server.identity_providers import validation
from server.identity_providers.instrumentation import Instrumentation
from server.identity_providers.registry import providers_of


class Social(Component):
    """The component that registers the clients, which share an HTTP client."""

    def __init__(self, core: Core) -> None:
        self._providers = providers_of(core.settings, core.clock, Instrumentation(core.metrics, core.span))
        core.port.add(IdentityProviders, self._providers.clients)

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the problems of the configured providers."""
        return validation.check(settings)

    async def close(self) -> None:
        """Cancel running calls, and close all connections."""
        await self._providers.close()
