"""OpenID providers: the discovery document has their endpoints, an ID token has the identity, userinfo completes it."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from joserfc.jwk import Key

from domain.identifiers import clean_name
from domain.identity_provider import (
    CallbackParams,
    Identity,
    IdentityRefused,
    IdTokenCredential,
    IssuerMismatch,
    Tokens,
    VerifiedIdentity,
)
from server.clock import Clock
from server.identity_providers import discovery
from server.identity_providers.cache import CachedDocument
from server.identity_providers.claims import completed, identity_of
from server.identity_providers.configuration import Configuration
from server.identity_providers.discovery import Metadata
from server.identity_providers.http_client import Calls, ProviderError
from server.identity_providers.id_token import (
    ExpectedClaims,
    SignatureRefused,
    unverified_claims,
    verified,
    verified_logout,
)
from server.identity_providers.jwks import Keys, fetch_keys
from server.identity_providers.userinfo import fetch_profile

Discover = Callable[[Calls, Configuration], Awaitable[Metadata]]
"""A function that returns the metadata of a provider."""

_CHECKING = 2.0
"""Timeout in seconds for the verification of a refreshed ID token, which may need new keys."""


@dataclass(frozen=True, slots=True)
class OpenIdConnect:
    """The protocol with one OpenID provider, whose metadata and keys are cached. It has the same methods as `OAuth2`.

    Methods raise ProviderError if the provider is unavailable or its response is invalid.
    """

    configuration: Configuration
    calls: Calls
    metadata: CachedDocument[Metadata]
    keys: CachedDocument[Keys]

    async def authorization_endpoint(self) -> str:
        """Return the URL of the authorization endpoint."""
        return (await self.metadata.get()).authorization_endpoint

    async def token_endpoint(self) -> str:
        """Return the URL of the token endpoint."""
        return (await self.metadata.get()).token_endpoint

    async def check_redirect(self, issuer: str | None) -> None:
        """Check the parameter `iss` of a redirect (RFC 9207). Raises IssuerMismatch."""
        if not discovery.is_issuer_of_redirect(self.configuration, await self.metadata.get(), issuer):
            raise IssuerMismatch  # defence: V56 issuer-match

    async def authenticate(self, params: CallbackParams, tokens: Tokens, now: datetime) -> VerifiedIdentity:
        """Return the identity in the ID token of a code exchange, completed by userinfo, with the tokens.

        Raises IdentityRefused.
        """
        if tokens.id_token is None:
            raise IdentityRefused
        nonce = params.nonce if self.configuration.preset.nonce else None
        expected = await self._expected(now, nonce=nonce, access_token=tokens.access_token)
        claims = await self._claims(tokens.id_token, expected)
        userinfo = await self._userinfo(tokens.access_token)
        profile = claims if userinfo is None else completed(self.configuration, claims, userinfo)
        identity = await self._identity(profile, claims["iss"], self._name_in_form(params.form_user))
        return VerifiedIdentity(identity, tokens)

    async def verify_id_token(self, proof: IdTokenCredential, now: datetime) -> Identity:
        """Verify an ID token that an application posted, and return its identity. Raises IdentityRefused."""
        expected = await self._expected(now, nonce=proof.nonce, access_token=proof.access_token)
        claims = await self._claims(proof.id_token, replace(expected, is_direct=True))
        return await self._identity(claims, claims["iss"], proof.name or "")

    async def logout_claims(self, token: str, now: datetime) -> Mapping[str, Any]:
        """Verify a logout token and return its claims. Raises IdentityRefused."""
        expected = await self._expected(now, nonce=None, access_token=None)
        return await verified_logout(token, expected, self._key)

    async def end_session_endpoint(self) -> str | None:
        """Return the URL that signs users out at the provider; None if the provider has none."""
        return (await self.metadata.get()).end_session_endpoint

    async def fetch_userinfo(self, access_token: str, id_token: str | None) -> Identity:
        """Return the current identity from userinfo or, if the provider has no userinfo, from the stored ID token.

        Raises IdentityRefused, also if there is neither.
        """
        userinfo = await self._userinfo(access_token)
        if userinfo is not None:
            return await self._identity(userinfo, (await self.metadata.get()).issuer)
        if id_token is None:
            raise IdentityRefused
        claims = unverified_claims(id_token)
        return await self._identity(claims, str(claims.get("iss")))

    async def drop_invalid(self, tokens: Tokens, now: datetime) -> Tokens:
        """Verify the ID token of refreshed tokens; return the tokens without it if it is invalid.

        The ID token is also left out if its verification takes longer than two seconds.
        """
        if tokens.id_token is None:
            return tokens
        # The old refresh token may be used up, so an invalid ID token must not lose the new one.
        try:
            async with asyncio.timeout(_CHECKING):
                expected = await self._expected(now, nonce=None, access_token=tokens.access_token)
                await self._claims(tokens.id_token, expected)
        except (ProviderError, IdentityRefused, TimeoutError):
            return replace(tokens, id_token=None)
        return tokens

    async def close(self) -> None:
        """Cancel running requests for the metadata and keys."""
        await self.metadata.close()
        await self.keys.close()

    async def _expected(
        self, now: datetime, *, nonce: str | None, access_token: str | None
    ) -> ExpectedClaims:
        metadata = await self.metadata.get()
        return ExpectedClaims(
            client_id=self.configuration.client_id,
            algorithms=self.configuration.algorithms,
            issuers=lambda claims: discovery.issuers(self.configuration, metadata, claims.get("tid")),
            now=now,
            nonce=nonce,
            access_token=access_token,
        )

    async def _claims(self, token: str, expected: ExpectedClaims) -> Mapping[str, Any]:
        """Return the claims of a valid ID token. Raises IdentityRefused."""
        try:
            return await verified(token, expected, self._key)
        except SignatureRefused:
            # A provider may have replaced a key and kept its `kid`, so the keys are fetched again and tried once.
            with contextlib.suppress(ProviderError):
                await self.keys.renewed()
            return await verified(token, expected, self._key)

    async def _key(self, kid: str | None, algorithm: str) -> Key | None:
        keys = await self.keys.get()
        if not keys.knows(kid):
            keys = await self.keys.renewed()
        return keys.of(kid, algorithm)

    async def _userinfo(self, access_token: str | None) -> Mapping[str, Any] | None:
        """Return the response of the userinfo endpoint, or None if there is no endpoint. Raises IdentityRefused."""
        endpoint = (await self.metadata.get()).userinfo_endpoint
        if endpoint is None or not self.configuration.preset.asks_userinfo:
            return None
        return await fetch_profile(self.calls, endpoint, access_token)

    async def _identity(self, profile: Mapping[str, Any], issuer: str, name: str = "") -> Identity:
        """Return the identity of a profile; `name` is used if the profile has no name."""
        # Google uses two spellings of its issuer; both must lead to the same stored identity.
        if issuer in self.configuration.preset.aliases:
            issuer = (await self.metadata.get()).issuer
        identity = identity_of(self.configuration, issuer, profile)
        return identity if identity.name else replace(identity, name=clean_name(name))

    def _name_in_form(self, form_user: str | None) -> str:
        """Return the name that Apple sends with its first response only. It is not signed, so only the name is used."""
        if form_user is None or not self.configuration.preset.signs_secret:
            return ""
        try:
            name = json.loads(form_user)["name"]
            return " ".join(name_part for key in ("firstName", "lastName") if (name_part := name.get(key)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return ""


def open_id(
    configuration: Configuration, calls: Calls, clock: Clock, discover: Discover = discovery.discover
) -> OpenIdConnect:
    """Return an OpenID provider; its metadata and keys are fetched at first use."""
    metadata = CachedDocument(partial(discover, calls, configuration), clock)

    async def keys() -> Keys:
        return await fetch_keys(calls, (await metadata.get()).jwks_uri)

    return OpenIdConnect(configuration, calls, metadata, CachedDocument(keys, clock))
