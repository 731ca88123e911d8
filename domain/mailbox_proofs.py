"""Sign in a user who has proven an email address by a link or code.

The user is created if the address has none. Access that a stranger may have set up beforehand is removed.
"""

from dataclasses import dataclass

from domain import one_time_tokens
from domain.authentication import gate
from domain.authentication.gate import SignInOptions
from domain.authentication.policy import SignUpPolicy
from domain.context import Context
from domain.emails import events as email_events
from domain.errors import Forbidden
from domain.sessions import events as session_events
from domain.sessions.sessions import OpenedSession
from domain.two_factor.challenges import PendingSignIn
from domain.users import events as user_events
from domain.users import locking, profile, unproven
from domain.users.errors import BannedUser
from models import Purpose
from models.user import UserRow

SIGN_IN_PROOFS = (Purpose.MAGIC_LINK, Purpose.CODE_SIGN_IN)


class NewUserSignupDisabled(Forbidden):
    """There is no such user, and none may be created; the link or code is used up."""

    message = "New user sign up is disabled"
    keeps_writes = True


class BannedMailboxUser(BannedUser):
    """The link or code was right, but the user is banned; the link or code is used up."""

    code = BannedUser.code
    keeps_writes = True


@dataclass(frozen=True, slots=True)
class MailboxSignIn:
    """The result of a sign-in by a link or code: a session, or a sign-in that waits for a second factor."""

    opened: OpenedSession | PendingSignIn
    is_new: bool
    """Whether this sign-in has created the user."""
    removed_access: bool = False
    """Whether access to the account was removed that a stranger may have set up before the address was proven."""


@dataclass(frozen=True, slots=True)
class NewUser:
    """The profile of the user to create if the address has none; `allowed` says whether the method may create users."""

    allowed: bool
    name: str = ""
    image: str | None = None


def may_sign_up(ctx: Context, *, method_allows: bool) -> bool:
    """Return whether a user may be created for an unknown address: the method allows it, and sign-up is enabled."""
    return method_allows and ctx.policy[SignUpPolicy].enabled  # defence: M7 sign-up


def refusal_of(ctx: Context, user: UserRow | None, *, method_allows: bool) -> str | None:
    """Return why a link or code is not sent to an address: `no such user` or `banned`; None if it is sent.

    `user` is the user of the address, None if it has none.
    """
    if user is None:
        return None if may_sign_up(ctx, method_allows=method_allows) else "no such user"
    return "banned" if user.is_banned(ctx.now) else None


async def sign_in(
    ctx: Context, user: UserRow | None, email: str, new: NewUser, *, method: str, remembered: bool
) -> MailboxSignIn:
    """Sign in the user of `email`, which was proven just now by a link or code.

    `user` is the locked row of the user; None creates a user from `new`. Raises NewUserSignupDisabled and
    BannedMailboxUser, after which the link or code stays used up, and SsoRequired.
    """
    is_new, removed_access = user is None, False
    if user is None:
        user = await _create(ctx, email, new, method)
    elif unproven.is_unproven(user) and not user.is_banned(ctx.now):
        confirms_session = await _confirms_session(ctx, user)
        user = await profile.change(ctx, user, email_verified=True)
        email_events.email_verified(ctx, user.id)
        if not confirms_session:
            removed = await unproven.remove_access(ctx, user)  # defence: M5 M21 secured
            session_events.sessions_removed(ctx, user.id, removed)
            removed_access = bool(unproven.by_label(removed))
    wanted = SignInOptions(remembered, None, method, is_first=is_new, proves_mailbox=True)
    try:
        opened = await gate.complete_sign_in(ctx, user, wanted)
    except BannedUser:
        raise BannedMailboxUser from None
    one_time_tokens.revoke_mailed(ctx, email, purposes=SIGN_IN_PROOFS)
    return MailboxSignIn(opened, is_new, removed_access)


async def _confirms_session(ctx: Context, user: UserRow) -> bool:
    """Return whether the request has an active session of the user, whose row is locked.

    Such a user controls both the session and the mailbox, so no stranger prepared the account. An impersonation session
    does not count.
    """
    caller = ctx.caller
    if caller is None or caller.session.impersonated_by is not None:  # defence: M5 own-session
        return False
    # The session of the browser is only kept if it is still live; a stranger may have revoked or prepared it.
    # defence: M5 live-session
    return await locking.lock_with_session(ctx, user.id, caller.session.id) is not None


async def _create(ctx: Context, email: str, new: NewUser, method: str) -> UserRow:
    if not may_sign_up(ctx, method_allows=new.allowed):
        raise NewUserSignupDisabled
    user = profile.new_user(ctx, name=new.name, email=email, email_verified=True, image=new.image)
    await profile.add(ctx, user)  # A concurrent sign-up with the same address runs the request again.
    user_events.user_created(ctx, user.id, method)
    return user
