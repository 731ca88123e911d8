"""Passwords: check, reset and change them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from domain import one_time_tokens
from domain.accounts import accounts
from domain.api_keys import keys
from domain.context import Context, StaleRead
from domain.mail import messages
from domain.passwords import events, mails, strength
from domain.passwords.errors import (
    CredentialAccountNotFound,
    InvalidPassword,
    InvalidResetToken,
    ResetPasswordDisabled,
)
from domain.passwords.policy import PasswordPolicy, PasswordResetPolicy
from domain.rate_limits import limits
from domain.sessions import events as session_events
from domain.sessions import sessions, sso_origin
from domain.sso_enforcement import enforcement
from domain.trusted_devices import trusted_devices
from domain.users import locking, unproven
from models import Purpose
from models.account import PASSWORD_BY_USER
from models.oauth_grant import END_GRANTS_OF_USER
from models.one_time_token import MAILBOX_PROOFS
from models.passkey import COUNT_PASSKEYS
from models.user import UserRow

DIES_WITH_PASSWORD = (
    Purpose.RESET,  # defence: V82 reset-token
    Purpose.CHANGE_EMAIL,
    Purpose.DELETE,
    Purpose.CHALLENGE,  # defence: V50 challenge-token
    Purpose.MAIL_CODE,
    *MAILBOX_PROOFS,
)
"""The purposes of the tokens that are revoked with a password, because an intruder may have obtained them."""


class CompletedReset(NamedTuple):
    """A user with a new password, and whether other access to the account, perhaps a stranger's, was removed."""

    user: UserRow
    removed_access: bool


async def check(ctx: Context, password: str) -> str:
    """Check the caller's current password; return its stored hash.

    Raises InvalidPassword, also for a user without a password, at the same cost; Limited after too many failures;
    Overloaded.
    """
    return await _verify(ctx, password, await _stored(ctx))


async def _stored(ctx: Context) -> str | None:
    row = await ctx.reads.one(PASSWORD_BY_USER, ctx.signed_in.user.id)
    return row.hash if row is not None else None


async def _verify(ctx: Context, password: str, stored: str | None) -> str:
    subject = limits.FailureSubject(ctx.signed_in.user.id)  # defence: V68 caller-budget-key
    # The same budget as for sign-in: a second way to test passwords must not bypass the limit.
    await limits.check(ctx, subject)  # defence: V68 check-budget
    if not await ctx.hasher.verify(password, stored) or stored is None:  # defence: V51 verify-password
        await limits.count_failure(ctx, subject)  # defence: V68 count-failure
        events.password_check_failed(ctx, InvalidPassword)
        raise InvalidPassword
    await limits.check(ctx, subject)
    return stored


async def lock_caller(ctx: Context, checked: str | None) -> UserRow:
    """Lock the caller's row and return it, if the stored password hash is still `checked`; None: any hash.

    Raises StaleRead if the password was changed meanwhile, so that the request is run again; Unauthenticated.
    """
    user = await locking.lock_caller(ctx)
    if checked is not None and await accounts.password_of(ctx, user.id) != checked:
        raise StaleRead
    return user


def request_reset(ctx: Context, email: str, redirect_to: str | None) -> None:
    """Queue a request for a reset link; `resolve_reset` looks up the user and sends the link in the background.

    Raises ResetPasswordDisabled, for every address, if no sender for reset emails is configured.
    """
    if ctx.policy[PasswordResetPolicy].sender == "none":
        raise ResetPasswordDisabled
    # The email goes to the address in the database, never to the one that was typed (as in Django, CVE-2019-19844).
    mails.queue_reset_request(ctx, email.lower(), redirect_to)  # defence: V75 reset-email


@messages.resolves(mails.RESET_PASSWORD)
async def resolve_reset(ctx: Context, email: str, redirect_to: str | None) -> None:
    """Resolve a queued request: send the reset link to the user of the address, also if they have no password.

    Without a user a decoy is queued; a user who must sign in through an organization gets an email with that sign-in.
    Nothing is queued once the limit of emails to the address is reached.
    """
    user = await locking.lock_by_email(ctx, email)
    events.password_reset_requested(ctx, user, email)
    family = limits.DECOYS if user is None else limits.LINKS
    if not await limits.may_mail(ctx, family, email):  # defence: V74 reset-mails
        return
    is_bound = await enforcement.is_bound(ctx, email, user)
    if user is None:
        mails.reset_password(ctx, messages.UNREGISTERED, await one_time_tokens.issue_decoy(ctx), redirect_to)
    elif is_bound:  # defence: SSO11 reset-mail
        mails.sign_in_with_organization(ctx, user)
    else:
        await _mail_reset(ctx, user, redirect_to)


async def send_reset(ctx: Context, user: UserRow, redirect_to: str | None) -> None:
    """Queue the email with the reset link to a user, whose row is locked, on behalf of an administrator.

    Raises ResetPasswordDisabled if no sender for reset emails is configured; Limited if the limit of links for this
    address is reached.
    """
    if ctx.policy[PasswordResetPolicy].sender == "none":
        raise ResetPasswordDisabled
    await limits.check_mail(ctx, limits.LINKS, user.email)
    events.password_reset_requested(ctx, user, user.email)
    await _mail_reset(ctx, user, redirect_to)


async def _mail_reset(ctx: Context, user: UserRow, redirect_to: str | None) -> None:
    expires_in = ctx.policy[PasswordResetPolicy].token_expires_in
    token = await one_time_tokens.issue(ctx, Purpose.RESET, user.id, expires_in=expires_in)
    mails.reset_password(ctx, user, token, redirect_to)


async def is_reset_token(ctx: Context, token: str) -> bool:
    """Return whether the token would reset a password now; it is not used up."""
    return await one_time_tokens.find_live(ctx, Purpose.RESET, token) is not None


async def reset(ctx: Context, token: str | None, new: str) -> CompletedReset:
    """Replace a forgotten password by means of an emailed token, and use up the token. No session is opened.

    Raises InvalidResetToken, PasswordTooLong, PasswordTooShort, PasswordTooCommon, Overloaded; the token is then not
    used up.
    """
    if not token:
        _refuse_token(ctx, None)  # defence: V23 missing-token
    # Before the token is used up, so that a refused password does not cost the link.
    strength.check_length(ctx.policy[PasswordPolicy], new)  # defence: V84 check-length
    row = await one_time_tokens.find_live(ctx, Purpose.RESET, token)  # defence: V23 find-token
    if row is None:
        _refuse_token(ctx, None)
    _check_common(ctx, new, row[1])
    hashed = await ctx.hasher.hash(new)
    user = await locking.lock(ctx, row[1].id)
    # One statement finds and deletes the token; two resets at the same moment must not both succeed.
    # defence: V23 V83 consume-token
    if user is None or not await one_time_tokens.consume(ctx, Purpose.RESET, user.id, token):
        _refuse_token(ctx, row[1].id)
    removed_access = await complete_reset(ctx, user, hashed, method=events.LINK)
    # No session: a mailbox alone must not bypass the second factor.
    return CompletedReset(user, removed_access)  # defence: V50 reset-end


async def complete_reset(ctx: Context, user: UserRow, hashed: str, *, method: str) -> bool:
    """Set the password, with the hash `hashed`, of a user whose row is locked and who has proven their mailbox.

    Sessions end if the settings say so; grants to applications end, tokens and trusted devices are revoked, failure
    counters are reset. If the address was unverified, everything by which a stranger could sign in is removed, too;
    return whether there was anything.
    """
    # Sessions are revoked first, so that `remove_access` counts only access that a reset does not revoke anyway.
    # An attacker who has stolen the password, or prepared the account, may have a session.
    # defence: V16 V35 reset-sessions
    ended = await sessions.end_all(ctx, user) if ctx.policy[PasswordResetPolicy].revoke_sessions else []
    await _end_grants(ctx, user)
    removed: Mapping[str, int] = {}
    if unproven.is_unproven(user):
        # defence: V16 M5 reset-secured
        removed = await unproven.remove_access(ctx, user, replaced="passwords")
        session_events.sessions_removed(ctx, user.id, removed)
    await _set(ctx, user, hashed, is_reset=True)  # defence: R18 set-password
    await limits.reset_failures(ctx, user.id)
    events.password_reset_completed(ctx, user.id, ended, method)
    return bool(unproven.by_label(removed))


async def hash_for(ctx: Context, user: UserRow, new: str) -> str:
    """Return the hash of a new password that an administrator sets for a user.

    Call it after `strength.check_length`, and before the transaction begins. Raises PasswordTooCommon, Overloaded.
    """
    _check_common(ctx, new, user)
    return await ctx.hash_once(new)


async def set_for(ctx: Context, user: UserRow, hashed: str) -> Sequence[str]:
    """Set the password of a user, whose row is locked, for an administrator; `hashed` is the hash of the password.

    End the user's sessions and grants to applications, revoke tokens and trusted devices, and reset failure counters.
    Return the ids of the sessions that were active.
    """
    await _set(ctx, user, hashed, is_reset=True)
    await limits.reset_failures(ctx, user.id)
    ended = await sessions.end_all(ctx, user)
    await _end_grants(ctx, user)
    return ended


def _refuse_token(ctx: Context, user_id: str | None) -> NoReturn:
    events.password_reset_failed(ctx, user_id, InvalidResetToken)
    raise InvalidResetToken


async def change(
    ctx: Context, current: str | None, new: str, *, revoke_others: bool
) -> sessions.OpenedSession | None:
    """Change the caller's password; `current` may be None if `password.require_current_password` is off.

    With `revoke_others`, all sessions of the user end, and a new session is returned; otherwise None. Raises
    PasswordTooLong, PasswordTooShort, CredentialAccountNotFound, InvalidPassword, PasswordTooCommon, Limited,
    Overloaded; with `revoke_others` also SsoRequired.
    """
    caller = ctx.signed_in
    strength.check_length(ctx.policy[PasswordPolicy], new)
    stored = await _check_current(ctx, current)  # defence: V23 check-current
    _check_common(ctx, new, caller.user)
    hashed = await _hash_to_store(ctx, current, new, stored)
    user = await lock_caller(ctx, None if current is None else stored)
    if current is None and await accounts.password_of(ctx, user.id) is None:
        raise StaleRead  # The credential account was unlinked after the password was checked.
    origin = await sso_origin.of_session(ctx, caller.session)  # defence: SSO15 rotation
    if revoke_others:
        # A new session is another sign-in.
        # defence: SSO11 password-change
        await enforcement.check(ctx, user, None if origin is None else origin.connection_id)
    await _set(ctx, user, hashed, is_reset=False)
    events.password_changed(ctx, user.id)
    if not revoke_others:
        return None
    active = await sessions.active_of_caller(ctx)  # defence: ORG12 rotation
    ended = await sessions.end_all(ctx, user)  # defence: V35 change-sessions
    await _end_grants(ctx, user)
    session_events.sessions_revoked_all(ctx, user.id, ended, session_events.EndReason.PASSWORD_CHANGED)
    opened = await sessions.create(
        ctx,
        user,
        remembered=caller.session.remembered,
        method=events.PASSWORD.name,
        active=active,
        origin=origin,
    )
    session_events.session_created(ctx, opened.session.id, events.PASSWORD.name)
    return opened


async def _hash_to_store(ctx: Context, current: str | None, new: str, stored: str) -> str:
    """Return the hash of the new password; the stored hash if the password stays the same.

    A hash with a new salt would make concurrent changes to the same password invalidate each other's reads repeatedly.
    """
    if new == current and not ctx.hasher.needs_rehash(stored):
        return stored
    return await ctx.hash_once(new)


def _check_common(ctx: Context, new: str, user: UserRow) -> None:
    strength.check_common(ctx.policy, new, email=user.email, username=user.username, name=user.name)


async def _check_current(ctx: Context, current: str | None) -> str:
    stored = await _stored(ctx)
    if stored is None:
        # defence: V68 no-password-budget
        await limits.check(ctx, limits.FailureSubject(ctx.signed_in.user.id))
        # The response for a user without a password takes as long as for a wrong one.
        await ctx.hasher.verify(current or "", None)  # defence: V71 no-password-hash
        raise CredentialAccountNotFound
    if current is None and not ctx.policy[PasswordPolicy].require_current_password:
        return stored
    return await _verify(ctx, current or "", stored)


async def _set(ctx: Context, user: UserRow, hashed: str, *, is_reset: bool) -> None:
    await accounts.set_password(ctx, user.id, hashed)
    await one_time_tokens.revoke(ctx, user.id, *DIES_WITH_PASSWORD)
    # An intruder who knew the password may have marked a device as trusted.
    await trusted_devices.forget_all(ctx, user.id)  # defence: V52 password-devices
    enabled_keys = await keys.enabled_after_reset(ctx, user.id) if is_reset else 0
    passkeys = (await ctx.db.execute(COUNT_PASSKEYS, user_id=user.id)).scalar()
    await mails.password_changed(ctx, user, enabled_keys=enabled_keys, passkeys=passkeys)


async def _end_grants(ctx: Context, user: UserRow) -> None:
    """End what the user has granted applications: an intruder who knew the password may have connected them.

    Call it after the sessions have ended, which is filed for the clients of their grants.
    """
    await ctx.db.execute(END_GRANTS_OF_USER, user_id=user.id)  # defence: O16 password
