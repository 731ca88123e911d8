"""Lock rows of users, and require that values read before the lock are unchanged."""

from domain import errors
from domain.context import Context, StaleRead
from models.account import LOCK_UNCHANGED
from models.session import LOCK_CALLER, LOCK_CALLER_UNCHANGED
from models.sign_in_query import SignInRow
from models.user import LOCK_USER, LOCK_USER_BY_EMAIL, UserRow

_DECIDING = ("email_verified", "two_factor_enabled", "banned", "ban_expires")
"""The columns of a user that decide on a sign-in, in addition to the password."""


async def lock(ctx: Context, user_id: str) -> UserRow | None:
    """Lock the row of a user until the transaction ends and return it; None if there is no such user.

    Every change to a user's sessions, accounts or password locks this row first, so that revocation and sign-in cannot
    interleave.
    """
    user: UserRow | None = (await ctx.db.execute(LOCK_USER, id=user_id)).first()
    return user


async def lock_by_email(ctx: Context, email: str) -> UserRow | None:
    """Lock and return the row of the user with this lower-case email address; None if there is none.

    For emails to the address: they must not race with the user's deletion or change of address.
    """
    user: UserRow | None = (await ctx.db.execute(LOCK_USER_BY_EMAIL, email=email)).first()
    return user


async def lock_caller(ctx: Context) -> UserRow:
    """Lock and return the caller's row, after checking that the session is still active.

    Raises Unauthenticated if the session has ended, or the user was banned or deleted, since authentication.
    """
    caller = ctx.signed_in
    user = await lock_with_session(ctx, caller.user.id, caller.session.id)
    if user is None:
        raise errors.Unauthenticated
    return user


async def lock_with_session(ctx: Context, user_id: str, session_id: str) -> UserRow | None:
    """Lock a user and their session, and return the user; None if the session is not active or the user is banned."""
    held = await ctx.db.execute(LOCK_CALLER, id=user_id, session_id=session_id, now=ctx.now)
    user: UserRow | None = held.first()
    return user


def require_caller(ctx: Context, error: type[Exception] = errors.Unauthenticated) -> None:
    """Lock the caller and their session, as `lock_caller` does, before the deferred statements of the transaction.

    If the session is not active any more, `error` is raised and no statement is executed.
    """
    caller = ctx.signed_in
    ctx.db.require(LOCK_CALLER, error, id=caller.user.id, session_id=caller.session.id, now=ctx.now)


def require_unchanged_caller(ctx: Context, error: type[Exception]) -> None:
    """Do the same as `require_caller`, and also raise `error` if the caller's row has changed since it was read."""
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
    """Lock the row of a user before the deferred statements of the transaction.

    If a column on which the sign-in depends has changed since `row` was read, the request runs again.
    """
    user = row.user
    seen = {name: getattr(user, name) for name in _DECIDING}
    ctx.db.require(LOCK_UNCHANGED, StaleRead, id=user.id, password=row.hash, **seen)
