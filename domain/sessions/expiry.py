"""How long a session lasts, and how long it counts as fresh."""

from datetime import datetime

from sqlalchemy import update
from sqlmodel import col

from domain.context import Caller, Context
from domain.sessions.errors import SessionNotFresh
from domain.sessions.policy import SessionPolicy
from models import Session
from models.session import (
    SessionRow,
)


def end_of(rules: SessionPolicy, *, created_at: datetime, now: datetime, remembered: bool) -> datetime:
    """Return when a session that is created or extended now expires."""
    expiry = now + (rules.expires_in if remembered else rules.not_remembered_expires_in)
    return min(expiry, created_at + rules.absolute_lifetime) if rules.absolute_lifetime else expiry


def next_expiry(rules: SessionPolicy, session: SessionRow, now: datetime) -> datetime | None:
    """Return the new expiry if the session is due for extension, else None."""
    # Impersonation sessions are never remembered, so they are never extended.
    if not session.remembered or now < session.expires_at - rules.expires_in + rules.update_age:
        return None
    expiry = end_of(rules, created_at=session.created_at, now=now, remembered=True)
    # `session.absolute_lifetime` may leave nothing to extend.
    return expiry if expiry > session.expires_at else None


def is_fresh(ctx: Context) -> bool:
    """Return whether the caller's session was created at most `session.fresh_age` ago; always True if that is 0."""
    return _is_fresh(ctx.policy[SessionPolicy], ctx.signed_in.session, ctx.now)


def _is_fresh(rules: SessionPolicy, session: SessionRow, now: datetime) -> bool:
    # Counted from the sign-in, not from the last use: an old session stays old, however often it is used.
    # defence: V51 fresh-age
    return not rules.fresh_age or now - session.created_at <= rules.fresh_age


def require_fresh(rules: SessionPolicy, caller: Caller, now: datetime) -> None:
    """Raise SessionNotFresh unless the caller's session is fresh."""
    if not _is_fresh(rules, caller.session, now):  # defence: P7 fresh
        raise SessionNotFresh


async def extend(ctx: Context, session: SessionRow, expires_at: datetime) -> None:
    """Store a new expiry of a session, unless the session was revoked or extended since it was read."""
    await ctx.db.execute(
        update(Session)
        # Of several concurrent requests only the first still finds the old expiry, so a session is extended once.
        .where(col(Session.id) == session.id, col(Session.expires_at) == session.expires_at)
        .values(expires_at=expires_at, updated_at=ctx.now)
    )
