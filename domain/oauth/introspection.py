"""Introspection of tokens by their client, or by the resource server that they are for (RFC 7662)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import orjson

from domain.context import Context
from domain.oauth import lookup
from domain.oauth.claims import acr_of
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients import authentication
from domain.oauth_clients.parameters import OAuthParameters
from models.base import to_milliseconds
from models.oauth_client import ClientRow
from models.oauth_token import TokenKind
from models.oauth_token_query import StoredToken

_BEARER = {"token_type": "Bearer"}


@dataclass(eq=False)
class Introspection:
    """The response to an introspection request: what a client may know about a token."""

    members: Mapping[str, Any]

    @cached_property
    def json(self) -> bytes:
        """The members as JSON."""
        return orjson.dumps(self.members)


INACTIVE = Introspection({"active": False})
"""The response for every token that cannot be used, or that the client may not see."""


async def introspect(ctx: Context, parameters: OAuthParameters) -> Introspection:
    """Return the introspection response for the token in a request, after authenticating the client.

    It is `INACTIVE` if the token has ended or is unknown, or if the client may not see it. Raises InvalidRequest;
    InvalidClient also for a client without credentials; Unavailable.
    """
    sent = authentication.credentials_of(parameters)
    text = parameters.get("token") or ""
    # Both are read at once, before the client is authenticated: on PostgreSQL this is one statement.
    stored, found = await lookup.with_client(ctx, text, sent.client_id)
    # defence: O15 confidential
    client = await authentication.verify(ctx, found, sent, allows_public=False)
    parameters.require("token")
    if stored is None:
        return await _of_jwt(ctx, client, text)
    token = stored.token
    is_access = token.kind == TokenKind.ACCESS  # defence: O15 access-only
    is_seen = _may_see(client, token.client_id, token.resource if is_access else None)
    if not is_seen or not stored.is_live(ctx.now):  # defence: O16 live
        return INACTIVE
    return _of_stored(stored, ctx.policy[OAuthPolicy].issuer)


def _may_see(client: ClientRow, client_id: str, resource: str | None) -> bool:
    """Return whether a token is the client's own, or for a resource whose server the client is.

    `resource` is that of an access token.
    """
    # defence: O15 own
    return client_id == client.client_id or resource in client.metadata["resource_server"]


async def _of_jwt(ctx: Context, client: ClientRow, text: str) -> Introspection:
    claims = await lookup.live_claims(ctx, text)
    if claims is None or not _may_see(client, claims["client_id"], claims["aud"]):
        return INACTIVE
    shown = {name: value for name, value in claims.items() if name != "gid"}
    return Introspection({"active": True, **_BEARER, **shown})


# A query returns the same object for the same rows, so the response and its JSON are made once: they would take a tenth
# of the time of an introspection.
@lru_cache(maxsize=512)
def _of_stored(stored: StoredToken, issuer: str) -> Introspection:
    token, granted = stored.token, stored.granted
    shown: dict[str, Any] = {
        "active": True,
        "client_id": token.client_id,
        "scope": token.scopes,
        "iss": issuer,
        "sub": token.client_id if granted is None else granted.user_id,
        "iat": to_milliseconds(token.created_at) // 1000,
        "exp": to_milliseconds(token.expires_at) // 1000,
    }
    # Without a type, no resource server can take a refresh token for an access token.
    if token.kind == TokenKind.ACCESS:
        shown |= _BEARER if token.resource is None else {**_BEARER, "aud": token.resource}
    if granted is not None:
        methods = granted.amr.split()
        shown["auth_time"] = to_milliseconds(granted.auth_time) // 1000
        shown["acr"] = acr_of(methods)
        if methods:
            shown["amr"] = methods
    return Introspection(shown)
