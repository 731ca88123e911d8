"""The interface of the OpenID providers of connections. `server/identity_providers` implements it."""

from datetime import datetime
from typing import NamedTuple, Protocol

from domain.identity_provider import Provider
from models.sso_connection import ConnectionRow


class LogoutClaims(NamedTuple):
    """The contents of a valid logout token (OpenID Connect Back-Channel Logout 1.0, 2.4)."""

    token_id: str
    """The `jti` of the token, which must not be used again until `replay_until`."""
    subject: str | None
    session_id: str | None
    """The `sid` of the token. At least one of `subject` and `session_id` is set."""
    replay_until: datetime


class ConnectionProvider(Provider, Protocol):
    """The OpenID provider of one connection."""

    async def read_logout_token(self, token: str, now: datetime) -> LogoutClaims:
        """Return the contents of a logout token. Raises IdentityRefused, ProviderUnavailable."""

    async def logout_url(self, return_to: str) -> str | None:
        """Return the URL that signs the user out at the provider, which then redirects to `return_to`.

        None if the provider has no such URL. Raises ProviderUnavailable.
        """


class ConnectionProviders(Protocol):
    """Returns the providers of connections. Requests to them are subject to the rules for outbound requests."""

    def get(self, row: ConnectionRow) -> ConnectionProvider | None:
        """Return the provider of an OpenID connection; None if its configuration cannot be read."""
