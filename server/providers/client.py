"""The client of one configured provider: what the rules ask of it, and what they are told when it fails."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from domain.errors import ProviderUnavailable
from domain.providers import (
    Answer,
    CodeRefused,
    DirectProof,
    Habits,
    Identity,
    IdentityRefused,
    Proof,
    Question,
    RefreshRefused,
    Tokens,
    Use,
)
from server.clock import Clock
from server.providers import messages
from server.providers.calls import Calls, Fault
from server.providers.configuration import Configuration
from server.providers.kinds import Kind
from server.providers.openid import open_id
from server.providers.plain import PlainOAuth
from server.providers.watching import NOBODY, Watch

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProviderClient:
    """Speaks with one provider. Each call raises ProviderUnavailable when it is down, slow, or answers garbage."""

    configuration: Configuration
    calls: Calls
    kind: Kind
    watch: Watch = NOBODY

    @property
    def habits(self) -> Habits:
        """What was decided about it."""
        return self.configuration.habits

    async def authorization_url(self, question: Question) -> str:
        """Give the address of the provider's page; works from the copy while the provider is down."""
        async with self._available():
            endpoint = await self.kind.authorization_endpoint()
        return messages.authorization_url(self.configuration, endpoint, question)

    async def check_issuer(self, issuer: str | None) -> None:
        """Compare what a redirect says of its origin (RFC 9207). Raises IssuerMismatch."""
        async with self._available():
            await self.kind.check_redirect(issuer)

    async def exchange(self, answer: Answer, now: datetime) -> Proof:
        """Turn a code into a proven identity. Raises IssuerMismatch, CodeRefused, IdentityRefused."""
        await self.check_issuer(answer.issuer)
        async with self._available():
            request = messages.code_request(
                self.configuration, answer.redirect_uri, answer.code, answer.verifier, now
            )
            granted = await self._granted(*request)
            if granted is None:
                raise CodeRefused
            return await self.kind.proven(answer, messages.tokens_of(granted, now), now)

    async def verify(self, proof: DirectProof, now: datetime) -> Proof:
        """Check an ID token that came directly (behaviour 7.6). Raises IdentityRefused."""
        async with self._available():
            identity = await self.kind.verified(proof, now)
        use = Use.UNTIL_IT_ENDS if identity.profile.get("nonce") is None else Use.ONCE
        return Proof(identity, Tokens(proof.access_token, proof.refresh_token, proof.id_token), use)

    async def refresh(self, refresh_token: str, now: datetime) -> Tokens:
        """Renew tokens. Raises RefreshRefused."""
        async with self._available():
            granted = await self._granted(*messages.refresh_request(self.configuration, refresh_token, now))
            if granted is None:
                raise RefreshRefused
            return await self.kind.without_unsound(messages.tokens_of(granted, now), now)

    async def identify(self, access_token: str, id_token: str | None, subject: str) -> Identity:
        """Give what the provider says now about the owner of a token. Raises IdentityRefused.

        A provider without a userinfo endpoint is asked what the stored, once verified ID token says.
        """
        async with self._available():
            identity = await self.kind.told(access_token, id_token)
        if identity.subject != subject:
            raise IdentityRefused
        return identity

    async def close(self) -> None:
        """End what may be under way."""
        await self.kind.close()

    async def _granted(self, form: str, headers: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Ask for tokens; None is a refusal, which the log names for the operator to mend what they can."""
        reply = await self.calls.post(await self.kind.token_endpoint(), form, headers)
        granted = messages.granted(reply)
        if granted is None:
            error = messages.error_code(reply)
            _log.warning("provider.refused", provider=self.habits.id, status=reply.status, error=error)
        return granted

    @asynccontextmanager
    async def _available(self) -> AsyncIterator[None]:
        """Tell the operator of a fault, and the rules that there was one."""
        try:
            with self.watch.over(self.habits.id):
                yield
        except Fault as fault:
            _log.warning("provider.unavailable", provider=self.habits.id, reason=str(fault))
            raise ProviderUnavailable from fault


def client_of(
    configuration: Configuration, calls: Calls, clock: Clock, watch: Watch = NOBODY
) -> ProviderClient:
    """Give the client of one provider."""
    endpoints = configuration.endpoints
    kind: Kind = (
        open_id(configuration, calls, clock)
        if endpoints is None
        else PlainOAuth(configuration, endpoints, calls)
    )
    return ProviderClient(configuration, calls, kind, watch)
