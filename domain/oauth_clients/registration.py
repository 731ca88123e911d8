"""Dynamic registration: programs register themselves as clients (RFC 7591)."""

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
"""How many clients one network may register without an initial access token."""
_UNUSED = timedelta(days=30)
"""How long a client that was registered without a token is kept if no user signs in to it."""
_OPEN_GRANTS = ("authorization_code", "refresh_token")


async def register(ctx: Context, parameters: OAuthParameters) -> tuple[ClientRow, str | None]:
    """Register a client with the metadata in a request; return the client and its secret, None if it has no secret.

    Raises InvalidInitialToken unless registration is open; UnusableMetadata, UnusableRedirectUri; Limited if the
    network has registered too many clients without a token.
    """
    policy = ctx.policy[ClientPolicy]
    is_open = policy.registration == "open"
    label = None if is_open else await initial_tokens.use(ctx, parameters.authorization)
    sent = metadata.permitted(parameters.document, ClientSource.DYNAMIC)
    try:
        scoped = sent if sent.get("scope") is not None else {**sent, "scope": _default_scope(sent)}
        checked = metadata.complete(_restricted(sent, policy) if is_open else scoped, policy)
    except InvalidMetadata as fault:
        raise (UnusableRedirectUri if fault.is_redirect_uri else UnusableMetadata)(str(fault)) from None
    if is_open:
        await limits.check_network_quota(ctx, "client_registrations", _QUOTA)  # defence: O13 quota
    expires_at = ctx.now + _UNUSED if is_open else None
    row, secret = await clients.add(ctx, checked, ClientSource.DYNAMIC, expires_at=expires_at)
    events.registered(ctx, row, label)
    return row, secret


def _restricted(sent: Mapping[str, Any], policy: ClientPolicy) -> dict[str, Any]:
    """Return the metadata of a client that anyone may register. Raises InvalidMetadata.

    It does not know the resources of the service, so that it gets all of them unless it names some. Scopes that are
    neither standard nor of its resources are left out.
    """
    if sent.get("token_endpoint_auth_method") not in (None, "none"):  # defence: O13 open-method
        raise InvalidMetadata("token_endpoint_auth_method", "must be none")
    grants = sent.get("grant_types")
    others = [one for one in grants if one not in _OPEN_GRANTS] if isinstance(grants, list) else []
    if others:  # defence: O13 open-grants
        raise InvalidMetadata("grant_types", "must be authorization_code and refresh_token")
    resources = sent.get("resources") or [*policy.resources]
    own = [
        scope
        for uri in (resources if isinstance(resources, list) else ())
        if isinstance(uri, str) and uri in policy.resources
        for scope in policy.resources[uri].scopes
    ]
    scope = sent.get("scope")
    if isinstance(scope, str):
        scope = " ".join(one for one in scope.split(" ") if one in STANDARD_SCOPES or one in own) or None
    if scope is None:
        scope = " ".join(dict.fromkeys([*_default_scope(sent).split(" "), *own]))
    return {
        **sent,
        "token_endpoint_auth_method": "none",
        "client_credentials_scopes": None,
        "resources": resources,
        "scope": scope,
    }


def _default_scope(sent: Mapping[str, Any]) -> str:
    """Return the scope of a client that names none: it probably wants to refresh if it can."""
    grants = sent.get("grant_types")
    may_refresh = isinstance(grants, list) and "refresh_token" in grants
    return " ".join(STANDARD_SCOPES) if may_refresh else metadata.DEFAULT_SCOPE
