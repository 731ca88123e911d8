"""Sign in the user of a proven mailbox: find or create them, remove what a stranger prepared, pass the gate."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from domain import one_time_tokens
from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.authentication.policy import SignUpPolicy
from domain.context import Context
from domain.emails import events as email_events
from domain.errors import Forbidden
from domain.localization import N_
from domain.sessions import sessions
from domain.sessions.sessions import OpenedSession
from domain.two_factor.challenges import PendingSignIn
from domain.users import events as user_events
from domain.users import mails, profile
from domain.users.errors import BannedUser
from models import Account, OneTimeToken, Purpose, TrustedDevice
from models.api_key import ApiKey
from models.passkey import Passkey
from models.queries import UserRow

SIGN_IN_PROOFS = (Purpose.MAGIC_LINK, Purpose.CODE_SIGN_IN)
# defence: M5 ways-in
_WAYS_IN: dict[str, tuple[type[SQLModel], Mapped[Any]]] = {
    "accounts": (Account, col(Account.user_id)),
    "trusted_devices": (TrustedDevice, col(TrustedDevice.user_id)),
    "passkeys": (Passkey, col(Passkey.user_id)),
    "api_keys": (ApiKey, col(ApiKey.user_id)),
    "tokens": (OneTimeToken, col(OneTimeToken.user_id)),
}
"""The tables, other than sessions, whose rows let their owner in or change the account; and the owner's column."""
_SHOWN = {
    "accounts": N_("ways to sign in"),
    "sessions": N_("sessions"),
    "trusted_devices": N_("trusted devices"),
    "passkeys": N_("passkeys"),
    "api_keys": N_("API keys"),
}


class NewUserSignupDisabled(Forbidden):
    """There is no such user, and none may be created; the link or code is used up."""

    message = "New user sign up is disabled"
    keeps_writes = True


class BannedMailboxUser(BannedUser):
    """The link or code was right, but the user is banned; it is used up."""

    code = BannedUser.code
    keeps_writes = True


@dataclass(frozen=True, slots=True)
class MailboxSignIn:
    """A session or a sign-in that waits for a second factor, and whether the user was created for it."""

    opened: OpenedSession | PendingSignIn
    is_new: bool


@dataclass(frozen=True, slots=True)
class NewUser:
    """The profile of a user created by a proof, and whether the method may create one."""

    allowed: bool
    name: str = ""
    image: str | None = None


def may_sign_up(ctx: Context, *, method_allows: bool) -> bool:
    """Return whether an unknown address may get an account."""
    return method_allows and ctx.policy[SignUpPolicy].enabled  # defence: M7 sign-up


def refusal_of(ctx: Context, user: UserRow | None, *, method_allows: bool) -> str | None:
    """Return why no sign-in email is sent to an address, None if it is."""
    if user is None:
        return None if may_sign_up(ctx, method_allows=method_allows) else "no such user"
    return "banned" if user.is_banned(ctx.now) else None


async def sign_in(
    ctx: Context, user: UserRow | None, email: str, new: NewUser, *, method: str, remembered: bool
) -> MailboxSignIn:
    """Sign in the user of an address that was proven just now; `user` is their row, locked, if there is one.

    Raises NewUserSignupDisabled, BannedMailboxUser; the proof stays used up.
    """
    is_new = user is None
    if user is None:
        user = await _create(ctx, email, new, method)
    # defence: M6 kept
    elif not user.email_verified and not user.two_factor_enabled and not user.is_banned(ctx.now):
        user = await _secure(ctx, user)  # defence: M5 M21 secured
    wanted = SignInOptions(remembered, None, method, is_first=is_new, proves_mailbox=True)
    try:
        opened = await gate.complete_sign_in(ctx, user, wanted)
    except BannedUser:
        raise BannedMailboxUser from None
    one_time_tokens.revoke_mailed(ctx, email, purposes=SIGN_IN_PROOFS)
    return MailboxSignIn(opened, is_new)


async def _create(ctx: Context, email: str, new: NewUser, method: str) -> UserRow:
    if not may_sign_up(ctx, method_allows=new.allowed):
        raise NewUserSignupDisabled
    user = profile.new_user(ctx, name=new.name, email=email, email_verified=True, image=new.image)
    await profile.add(ctx, user)  # A concurrent sign-up with the same address runs the request again.
    user_events.user_created(ctx, user.id, method)
    return user


async def _secure(ctx: Context, user: UserRow) -> UserRow:
    """Verify the address of a user, and remove whatever a stranger may have prepared to get in."""
    counts = {"sessions": await sessions.end_all(ctx, user)}  # defence: M5 sessions
    for name, (table, owner) in _WAYS_IN.items():
        counts[name] = len(await ctx.db.execute(delete(table).where(owner == user.id).returning(owner)))
    changed = await profile.change(ctx, user, email_verified=True)
    email_events.email_verified(ctx, user.id)
    user_events.access_removed(ctx, user.id, counts)
    removed = {_SHOWN[name]: counts[name] for name in _SHOWN if counts[name]}
    if removed:
        await mails.account_secured(ctx, changed, removed)
    return changed
