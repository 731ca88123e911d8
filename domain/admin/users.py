"""Manage users as the operator: search, create, ban, unban, revoke sessions, disable two-factor authentication,
delete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from sqlalchemy import ColumnElement, func, or_, select, true
from sqlmodel import col

from domain import errors, identifiers, one_time_tokens
from domain.admin import changes, permissions
from domain.authentication import sign_up
from domain.authentication.sign_up import SignUp
from domain.context import Context
from domain.passwords import passwords, strength
from domain.passwords.policy import PasswordPolicy
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.trusted_devices import trusted_devices
from domain.two_factor import events as two_factor_events
from domain.two_factor import setup
from domain.user_deletion import deletion
from domain.users import events as user_events
from domain.users import locking, lookup, profile, roles
from domain.users.errors import UserAlreadyExistsUseAnotherEmail
from domain.users.policy import RolePolicy
from models import Account, User
from models.queries import USER_COLUMNS, SessionRow, UserRow

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

    With a `role` only those who have it, with `banned` only those with a ban.
    """
    matches = _contains(search)
    if role is not None:
        texts = [text for text in await permissions.role_texts(ctx) if role in roles.split(text)]
        matches &= col(User.role).in_(texts)
    if banned:
        matches &= col(User.banned)
    newest_first = (col(User.created_at).desc(), col(User.id))
    page = select(*USER_COLUMNS).where(matches).order_by(*newest_first).limit(limit).offset(offset)
    found = await ctx.db.execute(page.execution_options(row=UserRow, in_thread=True))
    number = select(func.count()).select_from(User).where(matches)
    total = await ctx.db.execute(number.execution_options(in_thread=True))
    return found, total.scalar()


def _contains(search: str) -> ColumnElement[bool]:
    if not search:
        return true()
    columns = (col(User.email), col(User.name), col(User.username))
    return or_(*(func.lower(column).contains(search.lower(), autoescape=True) for column in columns))


async def show(ctx: Context, identifier: str) -> Overview:
    """Return the details of a user. Raises NotFound."""
    user = await lookup.find(ctx, identifier)
    accounts = select(col(Account.provider_id)).where(col(Account.user_id) == user.id)
    providers = (await ctx.db.execute(accounts.order_by(col(Account.created_at)))).scalars()
    return Overview(user, providers, await sessions.of_user(ctx, user.id))


async def create(ctx: Context, wanted: NewUser) -> UserRow:
    """Create a user with a password by the rules of sign-up, even if sign-up is disabled; no session, no email.

    Raises InvalidEmail, ValidationError (the name), the refusals of usernames and new passwords, and
    UserAlreadyExistsUseAnotherEmail.
    """
    email = identifiers.email(wanted.email)
    if not identifiers.is_name(wanted.name):
        raise errors.ValidationError("The name is too long or holds control characters")
    user, hashed = await sign_up.new_user(ctx, _as_sign_up(wanted, email))
    user = user._replace(email_verified=wanted.email_verified)
    if wanted.role is not None:
        user = user._replace(role=",".join(permissions.role_names(ctx, wanted.role)))
    if await lookup.by_email(ctx, email) is not None:
        raise UserAlreadyExistsUseAnotherEmail
    await sign_up.add_user(ctx, user, hashed)
    user_events.user_created(ctx, user.id, "password", by_operator=True)
    return user


def _as_sign_up(wanted: NewUser, email: str) -> SignUp:
    return SignUp(
        name=wanted.name,
        email=email,
        password=wanted.password,
        image=None,
        username=wanted.username,
        display_username=None,
        remembered=False,
        callback_url=None,
    )


async def ban(ctx: Context, identifier: str, *, reason: str | None, until: datetime | None) -> int:
    """Ban a user permanently or until a moment, and revoke their sessions; return how many were active.

    A second ban replaces the first. Raises ValidationError (invalid reason, or a ban that ends in the past), NotFound.
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
    """Give a user a role in addition. Raises ValidationError, YouAreNotAllowedToSetNonExistentValue, NotFound."""
    user = await _locked(ctx, identifier)
    names = permissions.role_names(ctx, [*roles.split(user.role), *permissions.role_names(ctx, role)])
    return await changes.set_roles(ctx, user, names)


async def demote(ctx: Context, identifier: str, role: str) -> UserRow:
    """Take a role from a user; one without any other gets the default role. Raises NotFound."""
    user = await _locked(ctx, identifier)
    kept = [name for name in roles.split(user.role) if name != role]
    return await changes.set_roles(ctx, user, kept or [ctx.policy[RolePolicy].default_role])


async def set_role(ctx: Context, identifier: str, wanted: str) -> UserRow:
    """Replace all roles of a user. Raises ValidationError, YouAreNotAllowedToSetNonExistentValue, NotFound."""
    user = await _locked(ctx, identifier)
    return await changes.set_roles(ctx, user, permissions.role_names(ctx, wanted))


async def is_last_admin(ctx: Context, identifier: str) -> bool:
    """Return whether only this user, of those who are not banned, may set roles. Raises NotFound."""
    user = await lookup.find(ctx, identifier)
    may = permissions.may_set_roles(ctx, user.role)
    return may and not await permissions.is_other_admin(ctx, user)


async def administrators(ctx: Context) -> Sequence[UserRow]:
    """Return the users whose roles have a power beyond the default role's, by email address."""
    texts = await permissions.role_texts(ctx)
    holding = [text for text in texts if roles.powers(ctx.policy, *roles.split(text))]
    found = select(*USER_COLUMNS).where(col(User.role).in_(holding)).order_by(col(User.email))
    return await ctx.db.execute(found.execution_options(row=UserRow, in_thread=True))


async def set_password(ctx: Context, identifier: str, new: str) -> int:
    """Set a user's password and revoke their sessions; return how many were active.

    Raises PasswordTooLong, PasswordTooShort, PasswordTooCommon, NotFound, Overloaded.
    """
    strength.check_length(ctx.policy[PasswordPolicy], new)
    hashed = await passwords.hash_for(ctx, await ctx.in_new_transaction(partial(_find, identifier)), new)
    return await changes.set_password(ctx, await _locked(ctx, identifier), hashed)


async def verify_email(ctx: Context, identifier: str) -> bool:
    """Mark a user's email address as verified; return whether it was not before. Raises NotFound."""
    user = await _locked(ctx, identifier)
    if not user.email_verified:
        await profile.change(ctx, user, email_verified=True)
        user_events.user_updated(ctx, user.id, ["email_verified"], by_operator=True)
    return not user.email_verified


async def _find(identifier: str, ctx: Context) -> UserRow:
    return await lookup.find(ctx, identifier)


async def revoke_sessions(ctx: Context, identifier: str) -> int:
    """Revoke a user's sessions; return how many were active. Raises NotFound."""
    return await _end_sessions(ctx, await _locked(ctx, identifier))


async def sign_out_everyone(ctx: Context) -> int:
    """Revoke every session, trusted device, token and code; return how many sessions were active.

    For use after restoring a backup, which may bring revoked credentials back.
    """
    ended = await sessions.end_everyones(ctx)
    await trusted_devices.forget_all_users(ctx)  # defence: R45 trusted-devices
    await one_time_tokens.revoke_all_users(ctx)  # defence: R45 mailed-tokens
    session_events.sessions_revoked_all(ctx, None, ended, by_operator=True)  # defence: R45 audit
    return ended


async def _end_sessions(ctx: Context, user: UserRow) -> int:
    ended = await sessions.end_all(ctx, user)
    session_events.sessions_revoked_all(ctx, user.id, ended, by_operator=True)
    return ended


async def reset_two_factor(ctx: Context, identifier: str) -> tuple[UserRow, int | None]:
    """Disable two-factor authentication for a user who lost access, notify them, and revoke their sessions.

    Returns the user and how many sessions were active; None, with no session revoked, if it was off. Raises NotFound.
    """
    user = await _locked(ctx, identifier)
    if not await setup.remove(ctx, user):
        return user, None
    two_factor_events.two_factor_disabled(ctx, user.id, by_operator=True)
    return user, await _end_sessions(ctx, user)


async def delete(ctx: Context, identifier: str) -> UserRow:
    """Delete a user and all their data; return the user as it was. Raises NotFound."""
    user = await _locked(ctx, identifier)
    await deletion.remove(ctx, user)
    user_events.user_deleted(ctx, user.id, by_operator=True)
    return user


async def _locked(ctx: Context, identifier: str) -> UserRow:
    user = await locking.lock(ctx, (await lookup.find(ctx, identifier)).id)
    if user is None:
        raise errors.NotFound("There is no such user")
    return user
