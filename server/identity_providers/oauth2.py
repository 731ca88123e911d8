"""Providers of plain OAuth 2.0: identities come from an endpoint, and the provider is known by its addresses alone."""

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
"""Part of the identities' names; OAuth 2.0 has none."""


@dataclass(frozen=True, slots=True)
class OAuth2:
    """One such provider; it has the methods of `OpenIdConnect`."""

    configuration: Configuration
    endpoints: Endpoints
    calls: Calls

    async def authorization_endpoint(self) -> str:
        """Return where users are sent."""
        return self.endpoints.authorization

    async def token_endpoint(self) -> str:
        """Return where tokens are granted."""
        return self.endpoints.token

    async def check_redirect(self, issuer: str | None) -> None:
        """Refuse a redirect that names an issuer other than the one that is known, if any is. Raises IssuerMismatch."""
        if issuer is not None and issuer not in self.configuration.issuers:
            raise IssuerMismatch

    async def authenticate(self, params: CallbackParams, tokens: Tokens, now: datetime) -> VerifiedIdentity:
        """Return who the tokens are of: whom the profile's endpoint names. Raises IdentityRefused."""
        identity = await self._identity(tokens.access_token)
        return VerifiedIdentity(identity, await self.drop_invalid(tokens, now))

    async def verify_id_token(self, proof: IdTokenCredential, now: datetime) -> Identity:
        """Refuse: there are no ID tokens."""
        raise IdentityRefused

    async def fetch_userinfo(self, access_token: str, id_token: str | None) -> Identity:
        """Return what the profile's endpoint says now. Raises IdentityRefused."""
        return await self._identity(access_token)

    async def drop_invalid(self, tokens: Tokens, now: datetime) -> Tokens:
        """Leave out what would be an ID token."""
        return replace(tokens, id_token=None)

    async def close(self) -> None:
        """Do nothing: nothing is ever under way."""

    async def _identity(self, access_token: str | None) -> Identity:
        profile = await userinfo.profile(self.calls, self.endpoints.userinfo, access_token)
        identity = claims.identity_of(self.configuration, _ISSUER, profile)
        path = self.configuration.preset.emails_path
        if not path:
            return identity
        email, verified = await userinfo.primary_address(
            self.calls, self.endpoints.userinfo + path, access_token
        )
        return replace(identity, email=email, email_verified=verified)
