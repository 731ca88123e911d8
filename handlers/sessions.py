"""The operations of openapi/paths/sessions.yaml: get, list and end sessions.

If `require_authentication` is off, the operations accept requests without a session, and respond as if there were no
sessions.
"""

from domain.api_keys import verification
from domain.context import Context
from domain.errors import Unavailable
from domain.jwt import session_tokens
from domain.jwt.policy import JwtPolicy
from domain.organizations import active
from domain.sessions import listing, sessions
from handlers import shapes, wire
from handlers.responses.reply import Reply
from handlers.responses.sessions import sign_out_response
from models.api_key import ApiKeyRow


# sessions.get_current
async def get_current(
    ctx: Context, disable_refresh: wire.Flag | None = None
) -> Reply[shapes.CurrentSession] | shapes.CurrentSession | None:
    """Return the caller's session and user, or None. `disable_refresh` has already taken effect before the handler."""
    caller = ctx.caller
    if caller is None:
        return None
    if isinstance(key := caller.credential, ApiKeyRow):
        return wire.current_by_key(caller, key, ctx.client, verification.shown_expiry(ctx, key))
    current = wire.current(caller, active.visible(ctx.policy, caller.session))
    return await _with_token(ctx, current) if ctx.policy[JwtPolicy].header else current


async def _with_token(ctx: Context, current: shapes.CurrentSession) -> Reply[shapes.CurrentSession]:
    """Add a signed token to the response as a header, unless no key can sign."""
    try:
        return Reply(current, ((b"set-auth-jwt", (await session_tokens.issue(ctx)).encode()),))
    # A client that got an error here would treat the user as signed out, though only the signing keys are at fault.
    except Unavailable:
        return Reply(current)


# sessions.list_active
async def list_active(ctx: Context) -> list[shapes.Session]:
    """Return the caller's active sessions, newest first."""
    if ctx.caller is None:
        return []
    return [
        wire.session(active.visible(ctx.policy, row), token) async for row, token in listing.list_active(ctx)
    ]


# sessions.revoke
async def revoke(ctx: Context, body: shapes.RevokeSessionRequest) -> Reply[shapes.RevokedSession]:
    """Revoke one session of the caller."""
    was_current = ctx.caller is not None and await sessions.revoke(ctx, body["token"])
    ended: shapes.RevokedSession = {"success": True, "status": True}
    return sign_out_response(ctx, ended) if was_current else Reply(ended)


# sessions.revoke_all
async def revoke_all(ctx: Context, body: shapes.EmptyRequest) -> Reply[shapes.RevokedSessions]:
    """Revoke every session of the caller, the current one included."""
    if ctx.caller is None:
        return Reply({"status": True, "count": 0})
    return sign_out_response(ctx, {"status": True, "count": await sessions.revoke_all(ctx)})


# sessions.revoke_others
async def revoke_others(ctx: Context, body: shapes.EmptyRequest) -> shapes.RevokedSessions:
    """Revoke every session of the caller but the current one."""
    return {"status": True, "count": await sessions.revoke_others(ctx) if ctx.caller is not None else 0}
