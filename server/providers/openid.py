"""OpenID providers: found by discovery, believed by their ID tokens, completed by userinfo (behaviour 7.3, 7.6)."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from joserfc.jwk import Key

from domain.identifiers import clean_name
from domain.providers import Answer, DirectProof, Identity, IdentityRefused, IssuerMismatch, Proof, Tokens
from server.clock import Clock
from server.providers import discovery, id_tokens, identities, profiles
from server.providers.caching import Copy
from server.providers.calls import Calls, Fault
from server.providers.configuration import Configuration
from server.providers.discovery import Metadata
from server.providers.keys import Keys, fetch_keys

_CHECKING = 2.0
"""Seconds that renewed tokens wait until the ID token among them is checked."""


@dataclass(frozen=True, slots=True)
class OpenId:
    """One such provider; the methods are those of `Kind`. What it publishes is kept as copies."""

    configuration: Configuration
    calls: Calls
    metadata: Copy[Metadata]
    keys: Copy[Keys]

    async def authorization_endpoint(self) -> str:
        """Give where users are sent."""
        return (await self.metadata.get()).authorization_endpoint

    async def token_endpoint(self) -> str:
        """Give where tokens are granted."""
        return (await self.metadata.get()).token_endpoint

    async def check_redirect(self, issuer: str | None) -> None:
        """Refuse a redirect that names another issuer, or none where one is announced. Raises IssuerMismatch."""
        if not discovery.is_issuer_of_redirect(self.configuration, await self.metadata.get(), issuer):
            raise IssuerMismatch

    async def proven(self, answer: Answer, tokens: Tokens, now: datetime) -> Proof:
        """Give who the ID token is of, completed by userinfo. Raises IdentityRefused."""
        if tokens.id_token is None:
            raise IdentityRefused
        nonce = answer.nonce if self.configuration.preset.nonce else None
        expected = await self._expected(now, nonce=nonce, access_token=tokens.access_token)
        claims = await self._claims(tokens.id_token, expected)
        userinfo = await self._userinfo(tokens.access_token)
        profile = claims if userinfo is None else identities.completed(self.configuration, claims, userinfo)
        identity = await self._identity(profile, claims["iss"], self._name_in_form(answer.form_user))
        return Proof(identity, tokens)

    async def verified(self, proof: DirectProof, now: datetime) -> Identity:
        """Give who an ID token is of that an application brought. Raises IdentityRefused."""
        expected = await self._expected(now, nonce=proof.nonce, access_token=proof.access_token)
        claims = await self._claims(proof.id_token, replace(expected, is_direct=True))
        return await self._identity(claims, claims["iss"], proof.name or "")

    async def told(self, access_token: str, id_token: str | None) -> Identity:
        """Give what userinfo says now; without one, what the stored ID token says. Raises IdentityRefused."""
        userinfo = await self._userinfo(access_token)
        if userinfo is not None:
            return await self._identity(userinfo, (await self.metadata.get()).issuer)
        if id_token is None:
            raise IdentityRefused
        claims = id_tokens.unverified_claims(id_token)
        return await self._identity(claims, str(claims.get("iss")))

    async def without_unsound(self, tokens: Tokens, now: datetime) -> Tokens:
        """Leave a renewed ID token out unless it is valid, which must be known soon.

        The new refresh token must not be lost over it.
        """
        if tokens.id_token is None:
            return tokens
        try:
            async with asyncio.timeout(_CHECKING):
                expected = await self._expected(now, nonce=None, access_token=tokens.access_token)
                await self._claims(tokens.id_token, expected)
        except (Fault, IdentityRefused, TimeoutError):
            return replace(tokens, id_token=None)
        return tokens

    async def close(self) -> None:
        """End the fetches that may be under way."""
        await self.metadata.close()
        await self.keys.close()

    async def _expected(
        self, now: datetime, *, nonce: str | None, access_token: str | None
    ) -> id_tokens.Expected:
        metadata = await self.metadata.get()
        return id_tokens.Expected(
            client_id=self.configuration.client_id,
            algorithms=self.configuration.algorithms,
            issuers=lambda claims: discovery.issuers(self.configuration, metadata, claims.get("tid")),
            now=now,
            nonce=nonce,
            access_token=access_token,
        )

    async def _claims(self, token: str, expected: id_tokens.Expected) -> Mapping[str, Any]:
        """Give the claims of a valid ID token. Raises IdentityRefused.

        Keys may be exchanged without a new name, so that a signature they do not explain is a reason to renew them.
        """
        try:
            return await id_tokens.verified(token, expected, self._key)
        except id_tokens.SignatureRefused:
            with contextlib.suppress(Fault):
                await self.keys.renewed()
            return await id_tokens.verified(token, expected, self._key)

    async def _key(self, kid: str | None, algorithm: str) -> Key | None:
        keys = await self.keys.get()
        if not keys.knows(kid):
            keys = await self.keys.renewed()
        return keys.of(kid, algorithm)

    async def _userinfo(self, access_token: str | None) -> Mapping[str, Any] | None:
        """Give what the endpoint says, or None when there is none. Raises IdentityRefused."""
        endpoint = (await self.metadata.get()).userinfo_endpoint
        if endpoint is None or not self.configuration.preset.asks_userinfo:
            return None
        return await profiles.profile(self.calls, endpoint, access_token)

    async def _identity(self, profile: Mapping[str, Any], issuer: str, name: str = "") -> Identity:
        """Give who a profile is of, whichever way the issuer is spelt; `name` counts where the profile has none."""
        if issuer in self.configuration.preset.aliases:
            issuer = (await self.metadata.get()).issuer
        identity = identities.identity_of(self.configuration, issuer, profile)
        return identity if identity.name else replace(identity, name=clean_name(name))

    def _name_in_form(self, form_user: str | None) -> str:
        """Give the name that Apple sends beside its first answer only; nobody signed it, so it is but a name."""
        if form_user is None or not self.configuration.preset.signs_secret:
            return ""
        try:
            name = json.loads(form_user)["name"]
            return " ".join(part for key in ("firstName", "lastName") if (part := name.get(key)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return ""


def open_id(configuration: Configuration, calls: Calls, clock: Clock) -> OpenId:
    """Give a provider of which nothing is known yet."""
    metadata = Copy(partial(discovery.discover, calls, configuration), clock)

    async def keys() -> Keys:
        return await fetch_keys(calls, (await metadata.get()).jwks_uri)

    return OpenId(configuration, calls, metadata, Copy(keys, clock))
