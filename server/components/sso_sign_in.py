"""Single sign-on: the clients for the OpenID providers of connections."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from domain.sso_sign_in.providers import ConnectionProvider, ConnectionProviders
from models.discovery import lazy_import
from models.sso_connection import ConnectionRow
from server.components.component import Component, Core
from server.identity_providers.instrumentation import Instrumentation
from server.outbound.guard import SystemResolver, guard_of

if TYPE_CHECKING:
    import httpx

    from server.identity_providers.connections import ConnectionClients
    from server.identity_providers.http_client import Calls

_TIMEOUT = 10.0
"""Timeout of a request to a provider, in seconds."""
_LARGEST = 1024 * 1024
"""Largest response of a provider, in bytes."""
_LABEL = "sso"
"""The label of all connections in metrics; a label for each organization would make too many series."""


class _OfConnections(Instrumentation):
    """Counts the calls to all providers of connections under one name."""

    @contextmanager
    def measure(self, provider_id: str) -> Iterator[None]:
        """Count and trace the operation in this block."""
        with super().measure(_LABEL):
            yield


class _LazyClients:
    """The clients, created when the first user signs in: an HTTP client costs a tenth of a start."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._http: httpx.AsyncClient | None = None

    @cached_property
    def _clients(self) -> "ConnectionClients":
        core = self._core
        created: ConnectionClients = lazy_import("server.identity_providers.connections").ConnectionClients(
            self._calls,
            core.cipher,
            core.clock,
            _OfConnections(core.metrics, core.span),
            loopback_http=core.settings.profile == "development",
        )
        return created

    def get(self, row: ConnectionRow) -> ConnectionProvider | None:
        """Return the client of a connection; None if its configuration cannot be read."""
        return self._clients.get(row)

    def _calls(self) -> "Calls":
        http = lazy_import("server.identity_providers.http_client")
        if self._http is None:
            guard = guard_of(self._core.settings, SystemResolver())
            transport = lazy_import("server.outbound.transport").GuardedTransport(guard)
            self._http = http.make_client(transport)
        calls: Calls = http.Calls(
            self._http, _TIMEOUT, _LARGEST, loopback_http=self._core.settings.profile == "development"
        )
        return calls

    async def close(self) -> None:
        """Cancel running calls, and close all connections."""
        if self._http is not None:
            await self._clients.close()
            await self._http.aclose()


class SsoSignIn(Component):
    """The component that registers the clients for the OpenID providers of connections."""

    def __init__(self, core: Core) -> None:
        self._clients = _LazyClients(core)
        core.port.add(ConnectionProviders, self._clients)

    async def close(self) -> None:
        """Cancel running requests to the providers, and close all connections."""
        await self._clients.close()
