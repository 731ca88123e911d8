"""The user row: lock it, look for a free username, change the profile (behaviour 5.4, 5.7)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, Select
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from domain import audit, errors, identifiers
from domain.context import Context, Outdated
from models import User
from models.candidates import Candidate
from models.commands import ADD_USER, HOLD_AS_SEEN, HOLD_CALLER, HOLD_USER_BY_EMAIL, change_user
from models.queries import PASSWORD_BY_USERNAME, UserRow

_DECIDING = ("email_verified", "two_factor_enabled", "banned", "ban_expires")
"""The columns of a user that decide on a sign-in, beside the password."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a sign-up asks for: the username as it is stored and the name shown for it, either may be None."""

    username: str | None
    display_username: str | None


async def lock(ctx: Context, user_id: str) -> User | None:
    """Give the user's row, locked until the transaction ends; None when it is gone.

    Whatever changes a user's sessions, accounts or password does this first, so that revocation and sign-in
    cannot cross (behaviour 9.1).
    """
    return await _lock(ctx, col(User.id) == user_id)


async def lock_by_email(ctx: Context, email: str) -> User | None:
    """Give the row of the user with this lower-cased address, locked; None when nobody has it.

    What is filed for an address must not cross the user's deletion or their move to another one.
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
    if not await ctx.db.run(HOLD_CALLER, id=user_id, session_id=session_id, now=ctx.now):
        raise errors.Unauthenticated
    return (await ctx.db.execute(_fresh(col(User.id) == user_id))).scalar_one()


async def hold_by_email(ctx: Context, email: str) -> UserRow | None:
    """Lock the row of the user with this lower-cased address, as `lock_by_email` does."""
    rows = await ctx.db.run(HOLD_USER_BY_EMAIL, email=email)
    return rows[0] if rows else None


async def hold_caller(ctx: Context) -> UserRow:
    """Lock the caller's own row with their session still live, as `lock_caller` does. Raises Unauthenticated."""
    caller = ctx.signed_in
    held = await ctx.db.run(HOLD_CALLER, id=caller.user.id, session_id=caller.session.id, now=ctx.now)
    if not held:
        raise errors.Unauthenticated
    return held[0]


def demand_caller(ctx: Context, otherwise: type[Exception] = errors.Unauthenticated) -> None:
    """Let what is filed happen only while the caller's row and their live session are locked, as by `hold_caller`."""
    caller = ctx.signed_in
    values = {"id": caller.user.id, "session_id": caller.session.id, "now": ctx.now}
    ctx.db.demand(HOLD_CALLER, otherwise, **values)


def demand_as_seen(ctx: Context, candidate: Candidate) -> None:
    """Let what follows happen only while the user's row is locked, as by `lock`, and all that decides on their sign-in
    is still what was seen; the request is run once more otherwise."""
    user = candidate.user
    seen = {name: getattr(user, name) for name in _DECIDING}
    ctx.db.demand(HOLD_AS_SEEN, Outdated, id=user.id, password=candidate.hash, **seen)


async def by_email(ctx: Context, email: str) -> User | None:
    """Give the user with this lower-cased address, or None."""
    return (await ctx.db.execute(select(User).where(User.email == email))).scalar_one_or_none()


async def add(ctx: Context, user: UserRow) -> None:
    """Store a new user. When somebody else was faster with a unique value, the request is run once more."""
    with _unless_outrun():
        await ctx.db.run(ADD_USER, **user._asdict())


def file(ctx: Context, user: UserRow) -> None:
    """Have a new user stored by the commit, which runs the request once more when somebody else was faster."""
    ctx.db.file(ADD_USER, **user._asdict())


async def flush(ctx: Context) -> None:
    """Write what is pending. When somebody else was faster with a unique value, the request is run once more."""
    with _unless_outrun():
        await ctx.db.flush()


@contextmanager
def _unless_outrun() -> Iterator[None]:
    try:
        yield
    except IntegrityError as collision:
        raise Outdated from collision


async def is_username_available(ctx: Context, username: str) -> bool:
    """Whether nobody has this username. Raises UsernameTooShort, UsernameTooLong, InvalidUsername with status 422."""
    return await _owner(ctx, identifiers.wanted_username(username)) is None


async def new_names(ctx: Context, username: str | None, display_username: str | None) -> Names:
    """Settle the two names of a sign-up: each may supply the other (behaviour 5.7).

    Raises UsernameTooShort, UsernameTooLong, InvalidUsername, InvalidDisplayUsername, UsernameIsAlreadyTaken.
    """
    if not ctx.policy.username_enabled:
        return Names(None, None)
    if username is not None:
        shown = username if display_username is None else display_username
        names = Names(identifiers.username(username), identifiers.display_username(shown))
    elif display_username is not None:
        shown = identifiers.display_username(display_username)
        names = Names(identifiers.username_or_none(shown), shown)
    else:
        return Names(None, None)
    if names.username is not None and await _owner(ctx, names.username) is not None:
        raise errors.UsernameIsAlreadyTaken
    return names


async def update(ctx: Context, changes: dict[str, Any]) -> None:
    """Change the caller's profile: any of `name`, `image`, `username`, `display_username`.

    Raises ValidationError when nothing is left to change, and the refusals of the two usernames, which are ignored
    where usernames are off. Keeping one's own username is no conflict.
    """
    if not ctx.policy.username_enabled:
        changes = {field: value for field, value in changes.items() if field in ("name", "image")}
    if not changes:
        raise errors.ValidationError("No fields to update")
    if "username" in changes:
        changes["username"] = identifiers.username(changes["username"])
    if "display_username" in changes:
        changes["display_username"] = identifiers.display_username(changes["display_username"])
    caller = ctx.signed_in.user
    if "username" in changes and await _owner(ctx, changes["username"]) not in (None, caller.id):
        raise errors.UsernameIsAlreadyTaken
    demand_caller(ctx)
    command = change_user(*sorted(changes), "updated_at")
    ctx.db.file(command, whose=caller.id, **changes, updated_at=ctx.now)
    audit.user_updated(ctx, caller.id, changes)


async def _owner(ctx: Context, username: str) -> str | None:
    found = await ctx.reads.one(PASSWORD_BY_USERNAME, username)
    return found and found.user_id
