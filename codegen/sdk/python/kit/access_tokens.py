"""Verify access tokens (RFC 9068), with which applications call an API for their users or for themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import Forbidden
from .keys import Keys, SignedTokens, bearer_of, invalid_token, keys_of

if TYPE_CHECKING:
    from .service import Gatewright

TYP = "at+jwt"
REQUIRED = ("sub", "client_id")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A valid access token: which application may do what, and for which user."""

    client_id: str
    """The application that sends the token."""
    user_id: str | None
    """The user that the application acts for; None if it acts for itself."""
    scopes: frozenset[str]
    """What the application may do. What the user may do is for the API to decide."""
    claims: Mapping[str, Any]

    def require(self, *scopes: str) -> None:
        """Raise Forbidden unless the token has all of these scopes."""
        if self.scopes.issuperset(scopes):  # defence: O34 scope
            return
        challenge = f'Bearer error="insufficient_scope", scope="{" ".join(scopes)}"'
        message = f"The token needs the scope {' '.join(scopes)}"
        raise Forbidden("INSUFFICIENT_SCOPE", message, challenge=challenge)


class AccessTokenVerifier:
    """Verifies access tokens for one API without a request for each.

    `audience` is the URI of the API: one of `oauth.resources` in the settings of the service, of the format `jwt`.
    """

    def __init__(self, issuer: str, audience: str, keys: Keys) -> None:
        self._tokens = SignedTokens(issuer, audience, keys, typ=TYP, required=REQUIRED)

    @classmethod
    def of(cls, service: "Gatewright", audience: str) -> "AccessTokenVerifier":
        """Return a verifier with the keys of a service."""
        return cls(service.base_url, audience, keys_of(service))

    def read(self, authorization: str | None, *scopes: str) -> AccessToken:
        """Return the token in this header `Authorization`, which must have all of these scopes.

        Raises Unauthenticated, Forbidden, Unavailable.
        """
        token = self.verify(bearer_of(authorization))
        token.require(*scopes)
        return token

    def verify(self, token: str, now: int | None = None) -> AccessToken:
        """Return a token that is valid `now`, in seconds since 1970, by default the current time.

        Raises Unauthenticated and Unavailable.
        """
        claims = self._tokens.claims(token, now)
        subject, client_id, scope = claims["sub"], claims["client_id"], claims.get("scope", "")
        if not all(isinstance(value, str) for value in (subject, client_id, scope)):
            raise invalid_token()
        user_id = None if subject == client_id else subject
        return AccessToken(client_id, user_id, frozenset(scope.split()), claims)
