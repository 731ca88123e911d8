"""Test sign-ins through connections, for callers who may manage them."""

from functools import partial

from domain.context import Context
from domain.social.authorization_request import AuthorizationRedirect, AuthorizationRequest
from domain.sso_connections import access, events
from domain.sso_connections.errors import SsoTestNotFound
from domain.sso_sign_in import begin as sign_ins
from domain.sso_sign_in import testing
from domain.sso_sign_in.testing import TestResult
from models.sso_connection import FIND_CONNECTION, ConnectionRow


async def begin(ctx: Context, provider_id: str, callback_url: str | None) -> AuthorizationRedirect:
    """Begin a test of a connection, which may be a draft; return the redirect to its provider.

    `callback_url` is the trusted URL to which the browser returns, by default `/`. Raises SsoProviderNotFound,
    SessionNotFresh, ProviderUnavailable.
    """
    # In a transaction of its own, because the provider may be called next.
    row = await ctx.in_new_transaction(partial(_find, provider_id=provider_id, change=True))
    request = AuthorizationRequest(
        provider_id="",
        scopes=(),
        callback_url=callback_url,
        error_callback_url=callback_url,
        tested_by=ctx.signed_in.session.id,
    )
    redirect = await sign_ins.begin_at(ctx, row, request)
    events.tested(ctx, row)
    return redirect


async def take(ctx: Context, provider_id: str, token: str) -> TestResult:
    """Return and delete the result of a test that the caller's session began.

    Raises SsoProviderNotFound, SsoTestNotFound.
    """
    row = await _find(ctx, provider_id)
    found = await testing.take(ctx, token)
    if found is None or found.connection_id != row.id:
        raise SsoTestNotFound
    return found


async def _find(ctx: Context, provider_id: str, *, change: bool = False) -> ConnectionRow:
    row: ConnectionRow | None = (await ctx.db.execute(FIND_CONNECTION, provider_id=provider_id)).first()
    connection, _ = await access.require(ctx, row, change=change)  # defence: SSO17 managers
    return connection
