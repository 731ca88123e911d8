"""Locks on the user's row, and conditions on what was read before it (behaviour 9.1)."""

import sqlalchemy
from sqlalchemy import ColumnElement, Select
from sqlmodel import col

from domain import errors
from domain.context import Caller, Context, StaleRead
from models import User
from models.queries import UserRow
from models.sign_in_query import SignInRow
from models.statements import LOCK_CALLER, LOCK_UNCHANGED, LOCK_USER_BY_EMAIL

_DECIDING = ("email_verified", "two_factor_enabled", "banned", "ban_expires")
"""The columns of a user that decide on a sign-in, beside the password."""


async def lock(ctx: Context, user_id: str) -> User | None:
    """Give the user's row, locked until the transaction ends; None when it is gone.

    Whatever changes a user's sessions, accounts or password does this first, so that revocation and sign-in
    cannot cross (behaviour 9.1).
    """
    return await _lock(ctx, col(User.id) == user_id)


async def lock_by_email(ctx: Context, email: str) -> User | None:
    """Give the row of the user with this lower-cased address, locked; None when nobody has it.

    Mail queued for an address must not race with the user's deletion or their move to another one.
    """
    return await _lock(ctx, col(User.email) == email)


async def _lock(ctx: Context, condition: ColumnElement[bool]) -> User | None:
    return (await ctx.db.execute(_fresh(condition).with_for_update())).scalar_one_or_none()


def _fresh(condition: ColumnElement[bool]) -> Select[User]:
    return sqlalchemy.select(User).where(condition).execution_options(populate_existing=True)


async def lock_caller(ctx: Context) -> User:
    """Give the caller's own row, locked, with their session still live.

    Raises Unauthenticated when user or session ended after the request was let in.
    """
    caller = ctx.signed_in
    return await lock_with_session(ctx, caller.user.id, caller.session.id)


async def lock_with_session(ctx: Context, user_id: str, session_id: str) -> User:
    """Give a user's row, locked, if this session of theirs is live. Raises Unauthenticated."""
    # defence: V54 live-session
    if not await ctx.db.run(LOCK_CALLER, id=user_id, session_id=session_id, now=ctx.now):
        raise errors.Unauthenticated
    return (await ctx.db.execute(_fresh(col(User.id) == user_id))).scalar_one()


async def lock_row_by_email(ctx: Context, email: str) -> UserRow | None:
    """Lock the row of the user with this lower-cased address, as `lock_by_email` does."""
    rows = await ctx.db.run(LOCK_USER_BY_EMAIL, email=email)
    return rows[0] if rows else None


async def lock_caller_row(ctx: Context) -> UserRow:
    """Lock the caller's own row with their session still live, as `lock_caller` does. Raises Unauthenticated."""
    held = await lock_row_with_session(ctx, ctx.signed_in)
    if held is None:
        raise errors.Unauthenticated
    return held


async def lock_row_with_session(ctx: Context, caller: Caller) -> UserRow | None:
    """Lock the row of a caller with their session; None if that is not live, or the user is banned."""
    held = await ctx.db.run(LOCK_CALLER, id=caller.user.id, session_id=caller.session.id, now=ctx.now)
    return held[0] if held else None


def require_caller(ctx: Context, error: type[Exception] = errors.Unauthenticated) -> None:
    """Execute deferred statements only with the caller's row and live session locked, as `lock_caller_row` does."""
    caller = ctx.signed_in
    values = {"id": caller.user.id, "session_id": caller.session.id, "now": ctx.now}
    ctx.db.require(LOCK_CALLER, error, **values)


def require_unchanged(ctx: Context, row: SignInRow) -> None:
    """Execute deferred statements only with the user's row locked, as `lock` does, and only if everything that decides
    on their sign-in is unchanged; otherwise the request is run again."""
    user = row.user
    seen = {name: getattr(user, name) for name in _DECIDING}
    ctx.db.require(LOCK_UNCHANGED, StaleRead, id=user.id, password=row.hash, **seen)
