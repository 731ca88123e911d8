"""Verify session tokens (JWT), which signed-in clients fetch from `/token`."""

from typing import Any

from .callers import Caller, caller_of_token
from .keys import MALFORMED, Keys, SignedTokens, bearer_of, invalid_token, keys_of
from .service import Gatewright


class TokenVerifier:
    """Verifies session tokens without a request for each."""

    def __init__(self, issuer: str, audience: str, keys: Keys) -> None:
        self._tokens = SignedTokens(issuer, audience, keys, typ="JWT")

    @classmethod
    def of(cls, service: Gatewright, audience: str | None = None) -> "TokenVerifier":
        """Return a verifier with the keys of a service. The audience is by default the first of the service."""
        return cls(service.base_url, audience or service.base_url, keys_of(service))

    def caller(self, authorization: str | None) -> Caller:
        """Return the caller of a request with this header `Authorization`. Raises Unauthenticated, Unavailable."""
        claims = self.verify(bearer_of(authorization))
        try:
            return caller_of_token(claims)
        except (*MALFORMED, OverflowError):
            raise invalid_token() from None

    def verify(self, token: str, now: int | None = None) -> dict[str, Any]:
        """Return the claims of a token that is valid `now`, in seconds since 1970, by default the current time.

        Raises Unauthenticated and Unavailable.
        """
        return self._tokens.claims(token, now)
