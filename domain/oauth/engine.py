"""The interface of the library that checks token requests by the rules of OAuth. It gets the rows that it needs."""

from typing import NamedTuple, Protocol

from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow


class Presented(NamedTuple):
    """The stored data of the authorization code, refresh token or device code that a token request contains."""

    scopes: str
    """The granted scopes, separated by spaces."""
    redirect_uri: str | None = None
    code_challenge: str | None = None


class TokenEngine(Protocol):
    """Checks token requests by the rules of OAuth."""

    def __call__(
        self, client: ClientRow, parameters: OAuthParameters, presented: Presented | None = None
    ) -> str:
        """Return the scopes of the tokens that an authenticated client gets, separated by spaces.

        `presented` belongs to the code or refresh token in the request, which the caller has found to be valid, unused
        and issued to this client; None if the request has none. Raises OAuthError if the request breaks a rule.
        """
