"""Create users, check usernames, and change profiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.exc import IntegrityError

from domain import errors, identifiers, localization, tokens
from domain.context import Context, StaleRead
from domain.users import events, locking
from domain.users.errors import StaleProfile, UsernameIsAlreadyTaken
from domain.users.policy import RolePolicy, UsernamePolicy
from models import User
from models.account import PASSWORD_BY_USERNAME
from models.statements import insert
from models.user import CHANGE_USER, UserRow


@dataclass(frozen=True, slots=True)
class Names:
    """The username (in its stored form) and the displayed username of a new user; either may be None."""

    username: str | None
    display_username: str | None


NO_NAMES = Names(None, None)


def new_user(
    ctx: Context,
    *,
    name: str,
    email: str,
    email_verified: bool,
    image: str | None,
    names: Names = NO_NAMES,
    locale: str | None = None,
) -> UserRow:
    """Return a new user with the default role, which is not stored yet. The caller has checked all values."""
    return UserRow(
        id=tokens.token(),
        name=name,
        email=email.lower(),  # defence: V77 stored-email
        email_verified=email_verified,
        image=image or None,
        two_factor_enabled=False,
        role=ctx.policy[RolePolicy].default_role,
        banned=False,
        ban_reason=None,
        ban_expires=None,
        locale=locale,
        username=names.username,
        display_username=names.display_username,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def add(ctx: Context, user: UserRow) -> None:
    """Store a new user. If another transaction stored the same unique value first, the request is run again."""
    defer_add(ctx, user)
    await flush(ctx)


def defer_add(ctx: Context, user: UserRow) -> None:
    """Store a new user at the commit. If the email address or username was taken meanwhile, the request runs again."""
    ctx.db.defer(insert(User), **user._asdict())


async def flush(ctx: Context) -> None:
    """Execute deferred statements. If another transaction stored a unique value first, the request runs again."""
    try:
        await ctx.db.flush()
    except IntegrityError as collision:
        raise StaleRead from collision


async def change(ctx: Context, user: UserRow, **changes: Any) -> UserRow:
    """Change columns of a user whose row is locked, and `updated_at`; return the changed user.

    If another transaction stored the same unique value first, the request is run again.
    """
    changes["updated_at"] = ctx.now
    ctx.db.defer(CHANGE_USER, whose=user.id, **changes)
    await flush(ctx)
    return user._replace(**changes)


async def is_username_available(ctx: Context, username: str) -> bool:
    """Return whether no user has this username.

    Raises UnprocessableUsernameTooShort, UnprocessableUsernameTooLong, UnprocessableUsername.
    """
    return await _owner(ctx, identifiers.username_to_look_up(username)) is None


async def new_names(ctx: Context, username: str | None, display_username: str | None) -> Names:
    """Check and return the two usernames of a sign-up. If one is None, it is derived from the other.

    Both are None if usernames are disabled. Raises UsernameTooShort, UsernameTooLong, InvalidUsername,
    InvalidDisplayUsername, UsernameIsAlreadyTaken.
    """
    if not ctx.policy[UsernamePolicy].enabled:
        return NO_NAMES
    if username is not None:
        shown = username if display_username is None else display_username
        names = Names(identifiers.username(username), identifiers.display_username(shown))
    elif display_username is not None:
        shown = identifiers.display_username(display_username)
        names = Names(identifiers.username_or_none(shown), shown)
    else:
        return NO_NAMES
    if names.username is not None and await _owner(ctx, names.username) is not None:
        raise UsernameIsAlreadyTaken
    return names


async def update(ctx: Context, changes: dict[str, Any]) -> None:
    """Change the caller's profile: any of `name`, `image`, `locale`, `username`, `display_username`.

    Usernames are ignored if they are disabled. Raises ValidationError if nothing is left to change or the locale has no
    supported language, UsernameTooShort, UsernameTooLong, InvalidUsername, InvalidDisplayUsername and
    UsernameIsAlreadyTaken.
    """
    if not ctx.policy[UsernamePolicy].enabled:
        changes = {field: value for field, value in changes.items() if field in ("name", "image", "locale")}
    if not changes:
        raise errors.ValidationError("No fields to update")
    if "locale" in changes:
        changes["locale"] = supported_locale(changes["locale"])
    caller = ctx.signed_in.user
    changes |= await requested_names(ctx, caller, changes)
    locking.require_caller(ctx)
    # Sorted into a fixed order, so that the cache of compiled statements has one entry per set of columns.
    # defence: R35 stored-name
    ctx.db.defer(CHANGE_USER, whose=caller.id, **dict(sorted(changes.items())), updated_at=ctx.now)
    events.user_updated(ctx, caller.id, changes)


def supported_locale(tag: str | None, field: str = "locale") -> str | None:
    """Return the supported language for a BCP 47 tag, as it is stored; None for None.

    Raises ValidationError if no language is supported for the tag; `field` is the field of the body for its message.
    """
    language = localization.supported(tag)
    if tag is not None and language is None:
        problem = f"must be one of the languages {', '.join(sorted(localization.LANGUAGES))}, or null"
        raise errors.ValidationError(f"[body.{field}] {problem}", errors.Field("body", field, problem))
    return language


async def update_seen(ctx: Context, values: Mapping[str, Any], *, seen: datetime | None) -> None:
    """Change the caller's profile as `update` does, unless it was changed since the form was shown.

    `seen` is the `updated_at` of the user that the form showed. If it differs, raises StaleProfile, unless all values
    are stored already, as after a form that is sent twice. Also raises the errors that `update` lists.
    """
    caller = ctx.signed_in.user
    changes = {name: value for name, value in values.items() if value != getattr(caller, name)}
    if not changes:
        return
    # The form shows an older state, and saving it would silently undo what another tab has changed.
    if caller.updated_at != seen:  # defence: H6 seen-version
        raise StaleProfile
    await update(ctx, changes)
    locking.require_unchanged_caller(ctx, StaleProfile)  # defence: H6 unchanged-row


async def requested_names(ctx: Context, user: UserRow, requested: Mapping[str, str]) -> dict[str, str]:
    """Check the usernames in `requested`, and return them as columns; empty if usernames are disabled.

    The name that `user` has already is accepted.

    Raises UsernameTooShort, UsernameTooLong, InvalidUsername, InvalidDisplayUsername, UsernameIsAlreadyTaken.
    """
    names: dict[str, str] = {}
    if not ctx.policy[UsernamePolicy].enabled:
        return names
    if "username" in requested:
        names["username"] = identifiers.username(requested["username"])
    if "display_username" in requested:
        names["display_username"] = identifiers.display_username(requested["display_username"])
    if "username" in names and await _owner(ctx, names["username"]) not in (None, user.id):
        raise UsernameIsAlreadyTaken
    return names


async def _owner(ctx: Context, username: str) -> str | None:
    row = await ctx.reads.one(PASSWORD_BY_USERNAME, username)
    return row and row.user_id
