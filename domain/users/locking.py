"""Locks on the user's row, and conditions on values that were read before the lock."""

from domain import errors
from domain.context import Context, StaleRead
from models.account import LOCK_UNCHANGED
from models.session import LOCK_CALLER, LOCK_CALLER_UNCHANGED
from models.sign_in_query import SignInRow
from models.user import LOCK_USER, LOCK_USER_BY_EMAIL, UserRow

_DECIDING = ("email_verified", "two_factor_enabled", "banned", "ban_expires")
"""The columns of a user that decide on a sign-in, in addition to the password."""


async def lock(ctx: Context, user_id: str) -> UserRow | None:
    """Return the user's row, locked until the transaction ends; None if it does not exist.

    Every change to a user's sessions, accounts or password locks this row first, so that revocation and sign-in cannot
    interleave.
    """
    user: UserRow | None = (await ctx.db.execute(LOCK_USER, id=user_id)).first()
    return user


async def lock_by_email(ctx: Context, email: str) -> UserRow | None:
    """Return the row of the user with this lower-case email, locked; None if there is none.

    An email queued for an address must not race with the user's deletion or change of address.
    """
    user: UserRow | None = (await ctx.db.execute(LOCK_USER_BY_EMAIL, email=email)).first()
    return user


async def lock_caller(ctx: Context) -> UserRow:
    """Return the caller's own row, locked, with their session still active.

    Raises Unauthenticated if user or session ended after authentication.
    """
    caller = ctx.signed_in
    user = await lock_with_session(ctx, caller.user.id, caller.session.id)
    if user is None:
        raise errors.Unauthenticated
    return user


async def lock_with_session(ctx: Context, user_id: str, session_id: str) -> UserRow | None:
    """Return a user's row, locked with this session; None if the session is not active, or the user is banned."""
    held = await ctx.db.execute(LOCK_CALLER, id=user_id, session_id=session_id, now=ctx.now)
    user: UserRow | None = held.first()
    return user


def require_caller(ctx: Context, error: type[Exception] = errors.Unauthenticated) -> None:
    """Execute deferred statements only with the caller's row and active session locked, as in `lock_caller`."""
    caller = ctx.signed_in
    ctx.db.require(LOCK_CALLER, error, id=caller.user.id, session_id=caller.session.id, now=ctx.now)


def require_unchanged_caller(ctx: Context, error: type[Exception]) -> None:
    """Do the same as `require_caller`, and also require that the caller's row is unchanged since it was read."""
    caller = ctx.signed_in
    ctx.db.require(
        LOCK_CALLER_UNCHANGED,
        error,
        id=caller.user.id,
        session_id=caller.session.id,
        now=ctx.now,
        updated_at=caller.user.updated_at,
    )


def require_unchanged(ctx: Context, row: SignInRow) -> None:
    """Execute deferred statements only with the user's row locked, as in `lock`, and if no column that the sign-in
    depends on has changed; otherwise the request runs again."""
    user = row.user
    seen = {name: getattr(user, name) for name in _DECIDING}
    ctx.db.require(LOCK_UNCHANGED, StaleRead, id=user.id, password=row.hash, **seen)
