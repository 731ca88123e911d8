"""The UserInfo endpoint: the claims about a user that an access token gives access to (OpenID Connect Core, 5.3)."""

from typing import Any

from domain.context import Context
from domain.oauth import claims, lookup
from domain.oauth_clients.errors import (
    InsufficientScope,
    InvalidAccessToken,
    InvalidRequest,
    MissingAccessToken,
)
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_token import TokenKind


async def read(ctx: Context, parameters: OAuthParameters) -> dict[str, Any]:
    """Return the claims about a user that the access token in the Authorization header gives access to.

    Raises InvalidRequest for a malformed request; MissingAccessToken; InvalidAccessToken if the token has ended, or is
    not an access token for this service; InsufficientScope if it lacks `openid`.
    """
    parameters.check()
    if parameters.get("access_token") is not None:
        # A URL is logged, and a form is easier to forge (RFC 9700, 4.3.2).
        raise InvalidRequest("The access token must be in the Authorization header")
    found = await lookup.with_user(ctx, _bearer(parameters.authorization))
    if found is None or not found[0].is_live(ctx.now):  # defence: O16 user-info
        raise InvalidAccessToken
    stored, user = found
    # A token for an API must not open more to that API than the user has allowed it.
    # defence: O10 user-info
    if stored.token.kind != TokenKind.ACCESS or stored.token.resource is not None:
        raise InvalidAccessToken
    scopes = stored.token.scopes.split()
    if user is None or "openid" not in scopes:
        raise InsufficientScope
    return {"sub": user.id, **claims.of_user(user, scopes)}


def _bearer(header: str | None) -> str:
    """Return the token of an Authorization header. Raises MissingAccessToken, InvalidRequest."""
    if header is None:
        raise MissingAccessToken
    scheme, _, token = header.partition(" ")
    if not scheme:
        raise InvalidRequest("There are several Authorization headers")
    if scheme.lower() != "bearer":
        raise MissingAccessToken
    return token.strip(" ")
