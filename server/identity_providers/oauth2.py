"""Providers of plain OAuth 2.0: the endpoints are configured, and identities come from the userinfo endpoint."""

from dataclasses import dataclass, replace
from datetime import datetime

from domain.identity_provider import (
    CallbackParams,
    Identity,
    IdentityRefused,
    IdTokenCredential,
    IssuerMismatch,
    Tokens,
    VerifiedIdentity,
)
from server.identity_providers import claims, userinfo
from server.identity_providers.configuration import Configuration
from server.identity_providers.http_client import Calls
from server.identity_providers.presets import Endpoints

_ISSUER = ""
"""The issuer of the identities: empty, because plain OAuth 2.0 has none."""


@dataclass(frozen=True, slots=True)
class OAuth2:
    """The protocol with one provider of plain OAuth 2.0. It has the same methods as `OpenIdConnect`."""

    configuration: Configuration
    endpoints: Endpoints
    calls: Calls

    async def authorization_endpoint(self) -> str:
        """Return the URL of the authorization endpoint."""
        return self.endpoints.authorization

    async def token_endpoint(self) -> str:
        """Return the URL of the token endpoint."""
        return self.endpoints.token

    async def check_redirect(self, issuer: str | None) -> None:
        """Check the parameter `iss` of a redirect (RFC 9207). Raises IssuerMismatch."""
        if issuer is not None and issuer not in self.configuration.issuers:
            raise IssuerMismatch

    async def authenticate(self, params: CallbackParams, tokens: Tokens, now: datetime) -> VerifiedIdentity:
        """Return the identity that the userinfo endpoint reports for these tokens. Raises IdentityRefused."""
        identity = await self._identity(tokens.access_token)
        return VerifiedIdentity(identity, await self.drop_invalid(tokens, now))

    async def verify_id_token(self, proof: IdTokenCredential, now: datetime) -> Identity:
        """Raise IdentityRefused: plain OAuth 2.0 has no ID tokens."""
        raise IdentityRefused

    async def fetch_userinfo(self, access_token: str, id_token: str | None) -> Identity:
        """Return the current identity from the userinfo endpoint. Raises IdentityRefused."""
        return await self._identity(access_token)

    async def drop_invalid(self, tokens: Tokens, now: datetime) -> Tokens:
        """Return the tokens without the ID token, because plain OAuth 2.0 has no keys to verify it with."""
        return replace(tokens, id_token=None)

    async def close(self) -> None:
        """Do nothing, because no request runs in the background."""

    async def _identity(self, access_token: str | None) -> Identity:
        profile = await userinfo.fetch_profile(self.calls, self.endpoints.userinfo, access_token)
        identity = claims.identity_of(self.configuration, _ISSUER, profile)
        path = self.configuration.preset.emails_path
        if not path:
            return identity
        email, verified = await userinfo.primary_address(
            self.calls, self.endpoints.userinfo + path, access_token
        )
        return replace(identity, email=email, email_verified=verified)
