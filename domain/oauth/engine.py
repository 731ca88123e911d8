"""The interface of the library that knows the rules of OAuth: it decides on rows that were read before, without I/O."""

from typing import NamedTuple, Protocol

from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow


class Presented(NamedTuple):
    """What a request presents for tokens: an authorization code, a refresh token or a device code, as stored."""

    scopes: str
    """What was granted, separated by spaces."""
    redirect_uri: str | None = None
    code_challenge: str | None = None


class TokenEngine(Protocol):
    """Decides on requests for tokens."""

    def __call__(
        self, client: ClientRow, parameters: OAuthParameters, presented: Presented | None = None
    ) -> str:
        """Return the scopes of the tokens that an authenticated client gets, separated by spaces.

        `presented` is what the request presents, which is the client's, unused and valid; None if it presents nothing.
        Raises errors of the protocol (`OAuthError`).
        """
