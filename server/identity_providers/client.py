"""The client of one configured identity provider. It logs a fault of the provider and raises ProviderUnavailable."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from domain.identity_provider import (
    AuthorizationParams,
    CallbackParams,
    CodeRefused,
    Identity,
    IdentityRefused,
    IdTokenCredential,
    ProviderTraits,
    RefreshRefused,
    Tokens,
    TokenUse,
    VerifiedIdentity,
)
from domain.social.errors import ProviderUnavailable
from server.clock import Clock
from server.identity_providers import messages
from server.identity_providers.configuration import Configuration
from server.identity_providers.http_client import Calls, ProviderError
from server.identity_providers.instrumentation import NO_INSTRUMENTATION, Instrumentation
from server.identity_providers.oauth2 import OAuth2
from server.identity_providers.openid_connect import OpenIdConnect, open_id

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProviderClient:
    """The client of one identity provider.

    All methods that call the provider raise ProviderUnavailable if it is down, slow, or its response is invalid.
    """

    configuration: Configuration
    calls: Calls
    kind: OAuth2 | OpenIdConnect
    instrumentation: Instrumentation = NO_INSTRUMENTATION

    @property
    def traits(self) -> ProviderTraits:
        """The traits of the provider that the rules of sign-in need."""
        return self.configuration.traits

    async def authorization_url(self, params: AuthorizationParams) -> str:
        """Return the URL of the provider to which a user is redirected to sign in.

        While the provider is down, an old copy of its metadata is used.
        """
        async with self._available():
            endpoint = await self.kind.authorization_endpoint()
        return messages.authorization_url(self.configuration, endpoint, params)

    async def check_issuer(self, issuer: str | None) -> None:
        """Check the parameter `iss` of a redirect from the provider (RFC 9207). Raises IssuerMismatch."""
        async with self._available():
            await self.kind.check_redirect(issuer)

    async def exchange(self, params: CallbackParams, now: datetime) -> VerifiedIdentity:
        """Exchange an authorization code for tokens; return the verified identity with the tokens.

        Raises IssuerMismatch, CodeRefused, IdentityRefused.
        """
        # Before the exchange: the code of another provider must not be sent to this one (RFC 9207).
        await self.check_issuer(params.issuer)
        async with self._available():
            request = messages.code_request(
                self.configuration, params.redirect_uri, params.code, params.verifier, now
            )
            granted = await self._granted(*request)
            if granted is None:
                raise CodeRefused
            return await self.kind.authenticate(params, messages.tokens_of(granted, now), now)

    async def verify(self, proof: IdTokenCredential, now: datetime) -> VerifiedIdentity:
        """Verify an ID token that an application posted; return its identity and the tokens. Raises IdentityRefused."""
        async with self._available():
            identity = await self.kind.verify_id_token(proof, now)
        # defence: V18 nonce-use
        use = TokenUse.UNTIL_IT_ENDS if identity.profile.get("nonce") is None else TokenUse.ONCE
        return VerifiedIdentity(
            identity, Tokens(proof.access_token, proof.refresh_token, proof.id_token), use
        )

    async def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        """Request new tokens with a refresh token, and return them. An invalid new ID token is left out.

        Raises RefreshRefused if the provider does not accept the refresh token.
        """
        async with self._available():
            granted = await self._granted(*messages.refresh_request(self.configuration, refresh_token, now))
            if granted is None:
                raise RefreshRefused
            return await self.kind.drop_invalid(messages.tokens_of(granted, now), now)

    async def identify(self, access_token: str, id_token: str | None, subject: str) -> Identity:
        """Return the current identity of the user of an access token, from the userinfo endpoint.

        If the provider has no such endpoint, the identity is that in the stored `id_token`, which was verified on
        receipt. Raises IdentityRefused, also if the identity has another subject than `subject`.
        """
        async with self._available():
            identity = await self.kind.fetch_userinfo(access_token, id_token)
        if identity.subject != subject:
            raise IdentityRefused
        return identity

    async def close(self) -> None:
        """Cancel running requests for the provider's metadata and keys."""
        await self.kind.close()

    async def _granted(self, form: str, headers: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Request tokens; log a refusal for the operator and return None."""
        reply = await self.calls.post(await self.kind.token_endpoint(), form, headers)
        granted = messages.granted(reply)
        if granted is None:
            error = messages.error_code(reply)
            # defence: V86 refused-log
            _log.warning("provider.refused", provider=self.traits.id, status=reply.status, error=error)
        return granted

    @asynccontextmanager
    async def _available(self) -> AsyncIterator[None]:
        """Log a fault of the provider, and raise ProviderUnavailable instead."""
        try:
            with self.instrumentation.measure(self.traits.id):
                yield
        except ProviderError as fault:
            _log.warning("provider.unavailable", provider=self.traits.id, reason=str(fault))
            raise ProviderUnavailable from fault


def client_of(
    configuration: Configuration,
    calls: Calls,
    clock: Clock,
    instrumentation: Instrumentation = NO_INSTRUMENTATION,
) -> ProviderClient:
    """Return the client of one provider: for OAuth 2.0 if its endpoints are configured, else for OpenID Connect."""
    endpoints = configuration.endpoints
    client_class = (
        open_id(configuration, calls, clock) if endpoints is None else OAuth2(configuration, endpoints, calls)
    )
    return ProviderClient(configuration, calls, client_class, instrumentation)
