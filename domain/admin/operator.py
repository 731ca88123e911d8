"""Manage users as the operator: search, create, ban, unban, revoke sessions, disable two-factor authentication,
delete.

An `identifier` is the id, the email address or the username of a user.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import ColumnElement, bindparam, func, or_, select, true
from sqlmodel import col

from domain import errors, identifiers, one_time_tokens
from domain.admin import changes, permissions
from domain.admin.errors import YouAreNotAllowedToSetNonExistentValue
from domain.context import Context
from domain.emails import events as email_events
from domain.organizations import departure
from domain.passwords import passwords, strength
from domain.passwords.policy import PasswordPolicy
from domain.sessions import events as session_events
from domain.sessions import listing, sessions
from domain.trusted_devices import trusted_devices
from domain.users import admins, locking, lookup, profile, roles
from domain.users import events as user_events
from domain.users.policy import RolePolicy
from models import Account, KnownNetwork, User
from models.session import SessionRow
from models.user import USER_COLUMNS, UserRow

LONGEST_REASON = 1024
"""The maximum length of a ban reason, in characters."""


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to create; the password is in plain text."""

    email: str
    name: str
    password: str = field(repr=False)
    username: str | None = None
    email_verified: bool = False
    role: str | None = None
    """Role names with commas between them; None for the default role."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A user, their ways to sign in (provider ids), and their active sessions, newest first."""

    user: UserRow
    providers: Sequence[str]
    sessions: Sequence[SessionRow]


async def list_users(
    ctx: Context,
    search: str = "",
    *,
    role: str | None = None,
    banned: bool = False,
    limit: int,
    offset: int = 0,
) -> tuple[Sequence[UserRow], int]:
    """Return a page of the users with `search` in email, name or username, newest first, and the total.

    `role` restricts the result to users with that role, `banned` to users whose ban has not ended.
    """
    matches = _contains(search)
    if role is not None:
        # Whole texts are compared, because an index cannot find one role within a text of several.
        texts = [text for text in await admins.role_texts(ctx) if role in roles.split(text)]
        matches &= col(User.role).in_(texts)
    if banned:
        matches &= col(User.banned) & or_(col(User.ban_expires).is_(None), col(User.ban_expires) > ctx.now)
    newest_first = (col(User.created_at).desc(), col(User.id))
    page = select(*USER_COLUMNS).where(matches).order_by(*newest_first).limit(limit).offset(offset)
    rows = await ctx.db.execute(page.execution_options(row=UserRow, in_thread=True))
    number = select(func.count()).select_from(User).where(matches)
    total = await ctx.db.execute(number.execution_options(in_thread=True))
    return rows, total.scalar()


def _contains(search: str) -> ColumnElement[bool]:
    if not search:
        return true()
    # LIKE ignores case in SQLite but not in PostgreSQL. `_` is frequent in usernames, and unescaped matches any
    # character.
    columns = (col(User.email), col(User.name), col(User.username))
    return or_(*(func.lower(column).contains(search.lower(), autoescape=True) for column in columns))


async def show(ctx: Context, identifier: str) -> Overview:
    """Return the details of the user with this id, email address or username. Raises NotFound."""
    user = await lookup.find(ctx, identifier)
    accounts = select(col(Account.provider_id)).where(col(Account.user_id) == user.id)
    providers = (await ctx.db.execute(accounts.order_by(col(Account.created_at)))).scalars()
    return Overview(user, providers, await listing.of_user(ctx, user.id))


async def create(ctx: Context, new: NewUser) -> UserRow:
    """Create a user with a password, even if sign-up is disabled; return the user. No session is created, and no
    email sent.

    Raises InvalidEmail, ValidationError (the name or the number of roles), UsernameTooShort, UsernameTooLong,
    InvalidUsername, UsernameIsAlreadyTaken, YouAreNotAllowedToSetNonExistentValue (an unknown role), EmailTaken,
    PasswordTooLong, PasswordTooShort, PasswordTooCommon, Overloaded.
    """
    email = identifiers.email(new.email)
    if not identifiers.is_name(new.name):
        raise errors.ValidationError("The name is too long or holds control characters")
    names = await profile.new_names(ctx, new.username, None)
    user = profile.new_user(
        ctx, name=new.name, email=email, email_verified=new.email_verified, image=None, names=names
    )
    if new.role is not None:
        user = user._replace(role=",".join(_role_names(ctx, new.role)))
    return await changes.add_user(ctx, user, new.password)


async def ban(ctx: Context, identifier: str, *, reason: str | None, until: datetime | None) -> int:
    """Ban a user until a time, or permanently (None), and revoke their sessions; return how many were active.

    A second ban replaces the first. Raises ValidationError (a reason too long, or a time in the past), NotFound.
    """
    if until is not None and until <= ctx.now:
        raise errors.ValidationError("The ban would be over at once")
    if reason is not None and len(reason) > LONGEST_REASON:
        raise errors.ValidationError(f"The reason is longer than {LONGEST_REASON} characters")
    _, ended = await changes.ban(ctx, await _locked(ctx, identifier), reason=reason, until=until)
    return ended


async def unban(ctx: Context, identifier: str) -> bool:
    """Lift a user's ban; return whether they were banned. Raises NotFound."""
    user = await _locked(ctx, identifier)
    await changes.unban(ctx, user)
    return user.banned


async def promote(ctx: Context, identifier: str, role: str) -> UserRow:
    """Add a role, or several separated by commas, to those of a user; return the user.

    Raises ValidationError, YouAreNotAllowedToSetNonExistentValue (an unknown role), NotFound.
    """
    added = _role_names(ctx, role)
    user = await _locked(ctx, identifier)
    return await changes.set_roles(ctx, user, roles.parse([user.role, *added]))


async def demote(ctx: Context, identifier: str, role: str) -> UserRow:
    """Remove a role from a user; return the user. Without another role, the user gets the default role.

    Raises NotFound.
    """
    user = await _locked(ctx, identifier)
    kept = [name for name in roles.split(user.role) if name != role]
    return await changes.set_roles(ctx, user, kept or [ctx.policy[RolePolicy].default_role])


async def set_role(ctx: Context, identifier: str, role: str) -> UserRow:
    """Replace all roles of a user by one, or by several separated by commas; return the user.

    Raises ValidationError, YouAreNotAllowedToSetNonExistentValue (an unknown role), NotFound.
    """
    names = _role_names(ctx, role)
    return await changes.set_roles(ctx, await _locked(ctx, identifier), names)


def _role_names(ctx: Context, role: str) -> list[str]:
    """Return the names in a list with commas, or raise an error that tells the operator which roles exist.

    Raises ValidationError, YouAreNotAllowedToSetNonExistentValue.
    """
    try:
        return permissions.role_names(ctx, role)
    except YouAreNotAllowedToSetNonExistentValue as error:
        known = ", ".join(sorted(ctx.policy[RolePolicy].roles))
        problem = f"{role}: not a configured role; define it in admin.roles, or use one of: {known}"
        raise YouAreNotAllowedToSetNonExistentValue(problem) from error


async def is_last_admin(ctx: Context, identifier: str) -> bool:
    """Return whether this is the only user, apart from banned users, who may set roles. Raises NotFound."""
    return await admins.is_last(ctx, await lookup.find(ctx, identifier))


async def administrators(ctx: Context) -> Sequence[tuple[UserRow, datetime | None]]:
    """Return the users with a permission that the default role does not grant, sorted by email address.

    Each comes with the time of the last sign-in; None if it is not stored any more.
    """
    texts = await admins.role_texts(ctx)
    holding = [text for text in texts if roles.powers(ctx.policy, *roles.split(text))]
    statement = select(*USER_COLUMNS).where(col(User.role).in_(holding)).order_by(col(User.email))
    rows = await ctx.db.execute(statement.execution_options(row=UserRow, in_thread=True))
    last = select(func.max(col(KnownNetwork.last_success))).where(
        col(KnownNetwork.user_id) == bindparam("whose")
    )
    return [(row, (await ctx.db.execute(last, whose=row.id)).scalar()) for row in rows]


async def set_password(ctx: Context, identifier: str, new: str) -> int:
    """Set a user's password and revoke their sessions; return how many were active.

    Raises PasswordTooLong, PasswordTooShort, PasswordTooCommon, NotFound, Overloaded.
    """
    strength.check_length(ctx.policy[PasswordPolicy], new)
    # Hashing takes about 20 ms, so it happens before the transaction opens and takes locks.
    user = await ctx.in_new_transaction(lambda other: lookup.find(other, identifier))
    hashed = await passwords.hash_for(ctx, user, new)
    return await changes.set_password(ctx, await _locked(ctx, identifier), hashed)


async def verify_email(ctx: Context, identifier: str) -> bool:
    """Mark a user's email address as verified; return whether this changed anything. Raises NotFound."""
    user = await _locked(ctx, identifier)
    if not user.email_verified:
        await profile.change(ctx, user, email_verified=True)
        user_events.user_updated(ctx, user.id, ["email_verified"], by_operator=True)
        email_events.publish_verified(ctx, user.id)
    return not user.email_verified


async def revoke_sessions(ctx: Context, identifier: str) -> int:
    """Revoke a user's sessions; return how many were active. Raises NotFound."""
    return await changes.revoke_sessions(ctx, await _locked(ctx, identifier))


async def sign_out_everyone(ctx: Context) -> int:
    """Revoke every session, trusted device, token and code; return how many sessions were active.

    Use it after restoring a backup, because the backup may contain credentials that were revoked since.
    """
    ended = await sessions.revoke_all_users(ctx)
    await trusted_devices.forget_all_users(ctx)  # defence: R45 trusted-devices
    await one_time_tokens.revoke_all_users(ctx)  # defence: R45 mailed-tokens
    # defence: R45 audit
    session_events.sessions_revoked_all(ctx, None, ended, session_events.EndReason.ADMIN, by_operator=True)
    return len(ended)


async def reset_two_factor(ctx: Context, identifier: str) -> tuple[UserRow, int | None]:
    """Disable two-factor authentication for a user who lost access, notify them, and revoke their sessions.

    Returns the user and the number of sessions that were active. If two-factor authentication was off, returns None and
    revokes no session. Raises NotFound.
    """
    return await changes.reset_two_factor(ctx, await _locked(ctx, identifier))


async def delete(ctx: Context, identifier: str) -> UserRow:
    """Delete a user and all their data; return the user as it was.

    Raises NotFound, and BadRequest that names the organizations with other members whose only owner is the user.
    """
    user = await _locked(ctx, identifier)
    if slugs := await departure.blocking(ctx, user.id):
        raise errors.BadRequest(
            f"{user.email} is the only owner of {', '.join(slugs)}. Make another member an owner, or delete the "
            "organization, first"
        )
    await changes.delete(ctx, user)
    return user


async def _locked(ctx: Context, identifier: str) -> UserRow:
    user = await locking.lock(ctx, (await lookup.find(ctx, identifier)).id)
    if user is None:
        raise errors.NotFound("There is no such user")
    return user
