"""The grant types of the token endpoint (RFC 6749, 4). The module of each registers the function that issues tokens."""

from collections.abc import Awaitable, Callable

from domain.context import Context
from domain.oauth.tokens import TokenResponse
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow

GrantRule = Callable[[Context, ClientRow, OAuthParameters], Awaitable[TokenResponse]]
"""Returns the response to a token request of one grant type, by an authenticated client that may use this type."""

GRANT_TYPES: dict[str, GrantRule] = {}
"""Every rule by its grant type."""


def grant_type(name: str) -> Callable[[GrantRule], GrantRule]:
    """Register the decorated function as the rule of a grant type. Raises ValueError if the type already has one."""

    def register(rule: GrantRule) -> GrantRule:
        if name in GRANT_TYPES:
            raise ValueError(f"the grant type {name!r} is registered twice")
        GRANT_TYPES[name] = rule
        return rule

    return register
