"""List and revoke the sessions of other users."""

from collections.abc import Sequence

from domain.admin import changes, events, permissions, targets
from domain.admin.errors import YouAreNotAllowedToListUsersSessions, YouAreNotAllowedToRevokeUsersSessions
from domain.context import Context
from domain.sessions import events as session_events
from domain.sessions import listing, sessions
from domain.sessions.sessions import HANDLE_PREFIX
from domain.users import locking
from models.session import FIND_SESSION, SessionRow


async def list_sessions(ctx: Context, user_id: str) -> list[tuple[SessionRow, str]]:
    """Return the active sessions of a user, newest first, each with a handle by which it can be revoked.

    The caller's current session has its token instead of a handle. Raises YouAreNotAllowedToListUsersSessions,
    TwoFactorRequired, UserNotFound.
    """
    error = YouAreNotAllowedToListUsersSessions
    permissions.require(ctx, "session", "list", error)
    permissions.check_rank(ctx, await targets.existing(ctx, user_id), error)
    events.sessions_listed(ctx, user_id)
    caller = ctx.signed_in
    return [
        # Handles instead of tokens: a caller who may list sessions must not be able to use them.
        # defence: ADM10 handles
        (row, caller.token if row.id == caller.session.id else HANDLE_PREFIX + row.id)
        for row in await listing.of_user(ctx, user_id)
    ]


async def newest_sessions(ctx: Context, user_id: str, *, limit: int) -> Sequence[SessionRow]:
    """Return at most `limit` active sessions of a user, newest first, without handles.

    Raises YouAreNotAllowedToListUsersSessions, TwoFactorRequired, UserNotFound.
    """
    error = YouAreNotAllowedToListUsersSessions
    permissions.require(ctx, "session", "list", error)
    permissions.check_rank(ctx, await targets.existing(ctx, user_id), error)
    events.sessions_listed(ctx, user_id)
    return await listing.newest_of_user(ctx, user_id, limit=limit)


async def get_session(ctx: Context, user_id: str, session_id: str) -> SessionRow | None:
    """Return an active session of a user, or None.

    Raises YouAreNotAllowedToListUsersSessions, TwoFactorRequired, UserNotFound.
    """
    error = YouAreNotAllowedToListUsersSessions
    permissions.require(ctx, "session", "list", error)
    permissions.check_rank(ctx, await targets.existing(ctx, user_id), error)
    return next((row for row in await listing.of_user(ctx, user_id) if row.id == session_id), None)


async def owner_of(ctx: Context, session_id: str) -> str | None:
    """Return the id of the user of a session; None for an unknown session.

    Raises YouAreNotAllowedToListUsersSessions, TwoFactorRequired.
    """
    permissions.require(ctx, "session", "list", YouAreNotAllowedToListUsersSessions)
    owner: str | None = (await ctx.db.execute(FIND_SESSION, id=session_id)).scalar()
    return owner


async def revoke_session(ctx: Context, value: str) -> bool:
    """Revoke the session of any user with this handle or token; return whether it was the caller's current session.

    Unknown values have no effect. Raises YouAreNotAllowedToRevokeUsersSessions, TwoFactorRequired.
    """
    error = YouAreNotAllowedToRevokeUsersSessions
    permissions.require(ctx, "session", "revoke", error)
    session_id = value.removeprefix(HANDLE_PREFIX)
    if value == session_id:
        row = await sessions.find(ctx.reads, value)
        session_id = "" if row is None else row[0].id
    owner = (await ctx.db.execute(FIND_SESSION, id=session_id)).scalar()
    if owner is None:
        return False
    user = await targets.locked(ctx, owner, error)
    if await sessions.end(ctx, user, session_id):
        session_events.session_revoked(ctx, user.id, session_id, session_events.EndReason.ADMIN)
    return session_id == ctx.signed_in.session.id


async def revoke_sessions(ctx: Context, user_id: str) -> int:
    """Revoke every session of a user; return how many were active, 0 for an unknown user.

    Raises YouAreNotAllowedToRevokeUsersSessions, TwoFactorRequired.
    """
    error = YouAreNotAllowedToRevokeUsersSessions
    permissions.require(ctx, "session", "revoke", error)
    user = await locking.lock(ctx, user_id)
    if user is None:
        return 0
    permissions.check_rank(ctx, user, error)
    return await changes.revoke_sessions(ctx, user)
