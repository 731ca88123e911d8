"""Registration of clients by themselves (RFC 7591)."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from domain.context import Context
from domain.oauth_clients import clients, events, initial_tokens, metadata
from domain.oauth_clients.errors import UnusableMetadata, UnusableRedirectUri
from domain.oauth_clients.metadata import InvalidMetadata
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy
from domain.rate_limits import limits
from domain.rate_limits.policy import Quota
from models.oauth_client import ClientRow, ClientSource

_QUOTA = Quota(10, timedelta(hours=1))
"""Clients that one network registers without a token."""
_UNUSED = timedelta(days=30)
"""How long a client that was registered without a token is kept if no user signs in to it."""
_OPEN_GRANTS = ("authorization_code", "refresh_token")


async def register(ctx: Context, parameters: OAuthParameters) -> tuple[ClientRow, str | None]:
    """Register a client; return it and its secret, if it has one. No URL of its metadata is requested.

    Raises InvalidInitialToken, UnusableMetadata, UnusableRedirectUri, Limited.
    """
    is_open = ctx.policy[ClientPolicy].registration == "open"
    label = None if is_open else await initial_tokens.use(ctx, parameters.authorization)
    sent = metadata.permitted(parameters.document, ClientSource.DYNAMIC)
    try:
        checked = metadata.complete(
            _restricted(sent) if is_open else _with_scope(sent), ctx.policy[ClientPolicy]
        )
    except InvalidMetadata as fault:
        raise (UnusableRedirectUri if fault.is_redirect_uri else UnusableMetadata)(str(fault)) from None
    if is_open:
        await limits.check_network_quota(ctx, "client_registrations", _QUOTA)  # defence: O13 quota
    expires_at = ctx.now + _UNUSED if is_open else None
    row, secret = await clients.add(ctx, checked, ClientSource.DYNAMIC, expires_at=expires_at)
    events.registered(ctx, row, label)
    return row, secret


def _restricted(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a client that anyone may register. Raises InvalidMetadata.

    Scopes of resources are left out: it may ask for them together with the resource.
    """
    if sent.get("token_endpoint_auth_method") not in (None, "none"):  # defence: O13 open-method
        raise InvalidMetadata("token_endpoint_auth_method", "must be none")
    grants = sent.get("grant_types")
    others = [one for one in grants if one not in _OPEN_GRANTS] if isinstance(grants, list) else []
    if others:  # defence: O13 open-grants
        raise InvalidMetadata("grant_types", "must be authorization_code and refresh_token")
    kept = {**sent, "token_endpoint_auth_method": "none", "client_credentials_scopes": None}
    scope = sent.get("scope")
    if isinstance(scope, str):
        kept["scope"] = " ".join(one for one in scope.split(" ") if one in STANDARD_SCOPES) or None
    return _with_scope(kept)


def _with_scope(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with the scopes of a client that names none: it probably wants to refresh if it can."""
    grants = sent.get("grant_types")
    if sent.get("scope") is None and isinstance(grants, list) and "refresh_token" in grants:
        return {**sent, "scope": " ".join(STANDARD_SCOPES)}
    return {**sent}
