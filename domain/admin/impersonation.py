"""Sessions that administrators open in the name of users."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from domain.admin import events, mails, permissions
from domain.admin.errors import (
    NotImpersonating,
    YouAreNotAllowedToImpersonateUsers,
    YouCannotImpersonateAdmins,
)
from domain.admin.policy import ImpersonationPolicy
from domain.context import Context
from domain.errors import Forbidden, Unauthenticated
from domain.policy import Policy
from domain.ports import Reads
from domain.sessions import sessions
from domain.sessions.sessions import OpenedSession
from domain.users import locking, roles
from domain.users.errors import BannedUser, UserNotFound
from models import Session, User
from models.session import IMPERSONATOR_OF_SESSION, SessionRow
from models.user import UserRow


async def start(ctx: Context, user_id: str) -> OpenedSession:
    """Create a session in the name of a user, and return it.

    Raises YouAreNotAllowedToImpersonateUsers, TwoFactorRequired, SessionNotFresh, UserNotFound,
    YouCannotImpersonateAdmins, BannedUser.
    """
    error: type[Forbidden] = YouAreNotAllowedToImpersonateUsers
    permissions.require(ctx, "user", "impersonate", error, fresh=True)
    user = await _lock(ctx, user_id)
    if roles.is_privileged(ctx.policy, user.role):
        error = YouCannotImpersonateAdmins
        # Acting for another administrator would pass on rights that the caller may not have.
        if not may_impersonate(ctx.policy, ctx.signed_in.user, user):  # defence: ADM5 privileged
            permissions.refuse(ctx, error)
    permissions.check_rank(ctx, user, error)
    if user.id == ctx.signed_in.user.id:
        permissions.refuse(ctx, YouCannotImpersonateAdmins)
    if user.is_banned(ctx.now):
        raise BannedUser
    policy = ctx.policy[ImpersonationPolicy]
    opened = await sessions.impersonate(ctx, user, ctx.now + policy.expires_in)
    events.impersonation_started(ctx, user.id, opened.session.id, opened.session.expires_at)
    if policy.notify:
        await mails.impersonated(ctx, user)
    return opened


async def _lock(ctx: Context, user_id: str) -> UserRow:
    """Return the user, locked, with the caller and their active session locked too. Raises UserNotFound,
    Unauthenticated."""
    own_id = ctx.signed_in.user.id
    user = await locking.lock(ctx, user_id) if user_id < own_id else None
    caller = await locking.lock_caller(ctx)
    if user_id >= own_id:
        user = caller if user_id == own_id else await locking.lock(ctx, user_id)
    if user is None:
        raise UserNotFound
    return user


def may_impersonate(policy: Policy, administrator: UserRow, user: UserRow | None = None) -> bool:
    """Return whether the roles of an administrator allow impersonating `user`, or ordinary users (None).

    Whether the user has permissions that the administrator lacks is not checked.
    """
    actions = ["impersonate"]
    if user is not None and roles.is_privileged(policy, user.role):
        actions.append("impersonate-admins")
    return all(roles.permits(policy, administrator, "user", action) for action in actions)


async def refusal(
    policy: Policy, reads: Reads, session: SessionRow, user: UserRow, now: datetime
) -> str | None:
    """Return why an active impersonation session of `user` may no longer be used, None if it may.

    The reasons are `disabled` (impersonation), and of the administrator `signed out`, `banned` and `role`.
    """
    if not policy[ImpersonationPolicy].enabled:
        return "disabled"
    row = await reads.one(IMPERSONATOR_OF_SESSION, session.id)
    if row is None:
        return "signed out"
    own, administrator = row
    # Read again for each request, because the administrator may have been signed out, banned or demoted since.
    if not own.is_active(now):  # defence: ADM7 own-session
        return "signed out"
    if administrator.is_banned(now):  # defence: ADM7 banned
        return "banned"
    return None if may_impersonate(policy, administrator, user) else "role"  # defence: ADM7 role


async def end(ctx: Context, session: SessionRow, reason: str) -> None:
    """Delete an impersonation session that may no longer be used. `reason` is stored in the audit record."""
    await _end(ctx, reason, col(Session.id) == session.id)


async def end_all_of(ctx: Context, administrator: UserRow) -> None:
    """End the sessions that an administrator, whose row is locked, has opened in the name of users."""
    await _end(ctx, "role", col(Session.impersonated_by) == administrator.id, by_operator=ctx.is_operator)


async def end_all(ctx: Context) -> int:
    """End all sessions in the name of users, as the operator; return how many were active."""
    return await _end(ctx, "operator", col(Session.impersonated_by).is_not(None), by_operator=True)


async def _end(ctx: Context, reason: str, which: ColumnElement[bool], *, by_operator: bool = False) -> int:
    columns = (Session.id, Session.user_id, Session.impersonated_by, Session.expires_at)
    ended = await ctx.db.execute(delete(Session).where(which).returning(*map(col, columns)))
    active = [row for row in ended if row.expires_at > ctx.now]
    for row in active:
        events.impersonation_ended(
            ctx,
            user_id=row.user_id,
            impersonator_id=row.impersonated_by,
            session_id=row.id,
            reason=reason,
            by_operator=by_operator,
        )
    return len(active)


async def stop(ctx: Context, presented: Sequence[str]) -> OpenedSession | None:
    """End the caller's session in the name of a user.

    `presented` are the values of the cookie that keeps the token of the administrator's own session. Returns that
    session if it is the only active one among them, otherwise None. Raises NotImpersonating, and Unauthenticated if the
    caller's session has ended meanwhile.
    """
    caller = ctx.signed_in
    if caller.session.impersonated_by is None:
        raise NotImpersonating
    own = await ctx.reads.one(IMPERSONATOR_OF_SESSION, caller.session.id)
    callers = await sessions.presented(ctx.reads, presented)
    user = await locking.lock_caller(ctx)
    if not await sessions.end(ctx, user, caller.session.id):
        raise Unauthenticated
    events.impersonation_stopped(ctx)
    active = [candidate for candidate in callers if candidate.session.is_active(ctx.now)]
    # The cookie must lead back to exactly the session that began the impersonation, not to that of another
    # administrator.
    # defence: ADM11 own
    if own is None or len(active) != 1 or active[0].session.id != own[0].id:
        return None
    return OpenedSession(active[0].token, active[0].session, active[0].user)


class RunningImpersonation(NamedTuple):
    """A session in the name of a user, with the email addresses of both."""

    session_id: str
    administrator: str
    user: str
    created_at: datetime
    expires_at: datetime


async def running(ctx: Context) -> Sequence[RunningImpersonation]:
    """Return the active sessions in the name of users, newest first."""
    own, administrator = aliased(Session), aliased(User)
    columns: tuple[Any, ...] = (
        col(Session.id),
        col(administrator.email).label("administrator"),
        col(User.email).label("user"),
        col(Session.created_at),
        col(Session.expires_at),
    )
    statement = (
        select(*columns)
        .select_from(User)
        .join(Session, col(Session.user_id) == col(User.id))
        .join(administrator, col(administrator.id) == col(Session.impersonated_by))
        .join(own, col(own.id) == col(Session.impersonator_session_id))
        .where(col(Session.expires_at) > ctx.now, col(own.expires_at) > ctx.now)
        .order_by(col(Session.created_at).desc(), col(Session.id))
    )
    return await ctx.db.execute(statement.execution_options(row=RunningImpersonation, in_thread=True))
