"""What the two kinds of providers have in common: how a client finds its way and learns who somebody is."""

from datetime import datetime
from typing import Protocol

from domain.providers import Answer, DirectProof, Identity, Proof, Tokens


class Kind(Protocol):
    """OpenID Connect, or plain OAuth 2.0. Every method raises Fault when the provider is down, slow, or garbled."""

    async def authorization_endpoint(self) -> str:
        """Give where users are sent."""

    async def token_endpoint(self) -> str:
        """Give where tokens are granted."""

    async def check_redirect(self, issuer: str | None) -> None:
        """Compare what a redirect says of its origin (RFC 9207). Raises IssuerMismatch."""

    async def proven(self, answer: Answer, tokens: Tokens, now: datetime) -> Proof:
        """Give who the tokens are of that a code was good for, and those that are sound. Raises IdentityRefused."""

    async def verified(self, proof: DirectProof, now: datetime) -> Identity:
        """Give who an ID token is of that an application brought. Raises IdentityRefused."""

    async def told(self, access_token: str, id_token: str | None) -> Identity:
        """Give what the provider says now of the owner of a token. Raises IdentityRefused."""

    async def without_unsound(self, tokens: Tokens, now: datetime) -> Tokens:
        """Give renewed tokens without an ID token that is not valid."""

    async def close(self) -> None:
        """End what may be under way."""
