"""OAuth clients: verification of client assertions, metadata documents, and the clients of the configuration."""

from collections.abc import Iterator, Mapping
from typing import Any

from domain.admin_oauth_clients import configuration
from domain.oauth_clients import metadata
from domain.oauth_clients.assertions import AssertionVerifier
from domain.oauth_clients.documents import ClientDocuments
from domain.oauth_clients.metadata import InvalidMetadata
from server.components.component import Component, Core
from server.components.jwt import signatures
from server.config.base import Settings
from server.config.groups.oauth import OAuthSettings
from server.config.groups.webhooks import WebhookSettings
from server.oauth.client_documents import DocumentFetcher
from server.outbound import LazyClient
from server.outbound.guard import SystemResolver, document_guard_of
from server.outbound.urls import parse_url


class ClientSignatures:
    """The verifier of client assertions. Implements `domain.oauth_clients.assertions.AssertionVerifier`."""

    def verify(self, assertion: str, keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the claims of an assertion if one of these keys has signed it, else None."""
        return signatures().verify_assertion(assertion, keys)


class OAuthClients(Component):
    """The component that verifies client assertions, fetches metadata documents, and stores configured clients."""

    def __init__(self, core: Core) -> None:
        self._core = core
        settings = core.settings[OAuthSettings]
        self._is_enabled = settings.enabled
        core.port.add(AssertionVerifier, ClientSignatures())
        self._documents = None
        if settings.enabled and settings.client_documents:
            # A resolver of its own: the look-ups of strangers' names do not hold up those of webhooks.
            client = LazyClient(document_guard_of(core.settings, SystemResolver()))
            self._documents = DocumentFetcher(client)
            core.port.add(ClientDocuments, self._documents)

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the problems of the clients in `oauth.clients`."""
        chosen = settings[OAuthSettings]
        policy = chosen.client_policy(settings)
        allowed_ports = settings[WebhookSettings].allowed_ports
        is_development = settings.profile == "development"
        for client_id, client in chosen.clients.items():
            key = f"oauth.clients.{client_id}"
            try:
                metadata.complete(client.metadata(), policy)
            except InvalidMetadata as fault:
                member, _, problem = str(fault).partition(" ")
                yield f"{key}.{member}: {problem}"
            try:
                if client.backchannel_logout_uri is not None:
                    parse_url(
                        client.backchannel_logout_uri,
                        allowed_ports=allowed_ports,
                        development=is_development,
                    )
            except ValueError as error:
                yield f"{key}.backchannel_logout_uri: {error}"

    async def start(self) -> None:
        """Make the table of clients match `oauth.clients`, if the OAuth provider is enabled."""
        if self._is_enabled:
            await self._core.run(configuration.apply)

    async def close(self) -> None:
        """Cancel the running HTTP requests for the metadata documents of clients."""
        if self._documents is not None:
            await self._documents.close()
