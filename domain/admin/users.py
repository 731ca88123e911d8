"""Manage users as the operator: search, create, ban, unban, revoke sessions, disable two-factor authentication,
delete."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select, true
from sqlmodel import col

from domain import errors, identifiers, one_time_tokens
from domain.authentication import gate, sign_up
from domain.authentication.sign_up import SignUp
from domain.context import Context
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.trusted_devices import trusted_devices
from domain.two_factor import events as two_factor_events
from domain.two_factor import setup
from domain.user_deletion import deletion
from domain.users import events as user_events
from domain.users import locking, lookup, profile
from domain.users.errors import UserAlreadyExistsUseAnotherEmail
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


@dataclass(frozen=True, slots=True)
class Overview:
    """A user, their ways to sign in (provider ids), and their active sessions, newest first."""

    user: UserRow
    providers: Sequence[str]
    sessions: Sequence[SessionRow]


async def list_users(
    ctx: Context, search: str = "", *, limit: int, offset: int = 0
) -> tuple[Sequence[UserRow], int]:
    """Return a page of the users with `search` in email, name or username, newest first, and the total."""
    matches = _contains(search)
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
    user = await _locked(ctx, identifier)
    await profile.change(ctx, user, banned=True, ban_reason=reason, ban_expires=until)
    user_events.user_updated(ctx, user.id, gate.BAN, by_operator=True)
    return await _end_sessions(ctx, user)


async def unban(ctx: Context, identifier: str) -> bool:
    """Lift a user's ban; return whether they were banned. Raises NotFound."""
    user = await _locked(ctx, identifier)
    was_banned = user.banned
    if was_banned:
        await gate.lift_ban(ctx, user, by_operator=True)
    return was_banned


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
