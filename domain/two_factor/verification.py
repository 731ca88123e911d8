"""Verify a code of the second factor, for a pending sign-in or a signed-in user.

Every function handles both cases: `ctx.challenge` is set for a pending sign-in, `ctx.caller` for a signed-in user.
"""

from dataclasses import dataclass
from typing import NoReturn

from sqlalchemy import or_, update
from sqlmodel import col

from domain import errors
from domain.context import Challenge, Context, StaleRead
from domain.rate_limits import limits
from domain.sessions.sessions import OpenedSession
from domain.two_factor import backup_codes, challenges, enrolment, events, lockout, otp, totp
from domain.two_factor.errors import (
    BackupCodesNotEnabled,
    InvalidBackupCode,
    InvalidCode,
    InvalidTwoFactorCookie,
    OtpHasExpired,
    OtpNotConfigured,
    TooManyAttemptsRequestNewCode,
    TotpNotEnabled,
    TwoFactorNotEnabled,
)
from domain.two_factor.policy import TwoFactorPolicy
from domain.users import locking
from models import TwoFactor
from models.backup_code import BACKUP_SET_BY_USER, BackupSetRow
from models.two_factor import TwoFactorRow
from models.user import UserRow


@dataclass(frozen=True, slots=True)
class Verified:
    """The user after a valid code, and the new session; `opened` is None for a caller who was signed in already."""

    user: UserRow
    opened: OpenedSession | None


async def verify_totp(ctx: Context, code: str, *, trust_device: bool) -> Verified:
    """Check a code of an authenticator, and complete the pending sign-in. For a caller, confirm a pending enrolment.

    `trust_device` is for a pending sign-in. Raises Limited, TotpNotEnabled, InvalidCode, UndecipherableSecret,
    InvalidTwoFactorCookie, BannedUser, AccountTemporarilyLocked and ChallengeSpent.
    """
    await _check_failure_limit(ctx)
    challenge = ctx.challenge
    if challenge is None:
        return await _totp_under_session(ctx, code)
    user, row = await _enter(ctx, challenge)
    secret = enrolment.live_secret(ctx, row)
    await challenges.take_attempt(ctx, challenge)
    if not await _use_step(ctx, user, secret, code):
        await _refuse_wrong(ctx, user, events.TOTP.name, InvalidCode)
    opened = await challenges.complete(
        ctx, challenge, user, method=events.TOTP.name, trust_device=trust_device
    )
    return Verified(opened.user, opened)


async def _check_failure_limit(ctx: Context) -> None:
    """Query the failure limit before any row is locked, so that other requests do not wait for a store that hangs.

    The result is ignored, because the limit is checked again under the lock. Raises Unavailable.
    """
    user = ctx.signed_in.user if ctx.challenge is None else ctx.challenge.user
    await limits.is_exhausted(ctx, limits.FailureSubject(user.id))


async def _enter(ctx: Context, challenge: Challenge) -> tuple[UserRow, TwoFactorRow]:
    user, row = await challenges.load(ctx, challenge)
    await limits.check(ctx, limits.FailureSubject(user.id))  # defence: V68 sign-in-code-budget
    return user, row


async def _enter_under_session(ctx: Context) -> UserRow:
    user = await _lock_caller(ctx)
    await limits.check(ctx, limits.FailureSubject(user.id))  # defence: V68 session-code-budget
    return user


async def _lock_caller(ctx: Context) -> UserRow:
    """Return the caller's own row, locked. Raises InvalidTwoFactorCookie if the session has ended."""
    try:
        return await locking.lock_caller(ctx)
    except errors.Unauthenticated:
        raise InvalidTwoFactorCookie from None


async def _totp_under_session(ctx: Context, code: str) -> Verified:
    user = await _enter_under_session(ctx)
    row = await enrolment.find(ctx, user.id)
    if row is None:
        raise TotpNotEnabled
    secret, _ = enrolment.shown_secret(ctx, row)
    if not row.is_enrolling():
        if not await _use_step(ctx, user, secret, code):
            await _refuse_wrong(ctx, user, events.TOTP.name, InvalidCode)
    elif _step_of(ctx, secret, code) is None:  # defence: V48 confirm-code
        await _refuse_wrong(ctx, user, events.TOTP.name, InvalidCode)
    else:
        user = await enrolment.confirm(ctx, user, row, secret)
    return await _verified(ctx, user, events.TOTP.name)


def _step_of(ctx: Context, secret: str, code: str) -> int | None:
    return totp.step_of(secret, code, ctx.now, ctx.policy[TwoFactorPolicy].totp_window)


async def _use_step(ctx: Context, user: UserRow, secret: str, code: str) -> bool:
    """Return whether the code is valid and of a later step than any accepted code: the replay guard (RFC 6238, 5.2)."""
    step = _step_of(ctx, secret, code)
    if step is None:
        return False
    # A code is accepted once (RFC 6238, 5.2): only steps after the last accepted one count.
    # defence: V47 later-step
    later = or_(col(TwoFactor.last_step).is_(None), col(TwoFactor.last_step) < step)
    # defence: V47 step-guard
    guarded = update(TwoFactor).where(col(TwoFactor.user_id) == user.id, later).values(last_step=step)
    return (await ctx.db.execute(guarded.returning(col(TwoFactor.user_id)))).first() is not None


async def send_otp(ctx: Context) -> None:
    """Email a code to the user of the pending sign-in, or to the caller.

    Raises OtpNotConfigured, TwoFactorNotEnabled, InvalidTwoFactorCookie, BannedUser and AccountTemporarilyLocked.
    """
    if ctx.challenge is not None:
        user, _ = await challenges.load(ctx, ctx.challenge)
        _refuse_unavailable(ctx)
    else:
        _refuse_unavailable(ctx)
        user = await _lock_caller(ctx)
        if not user.two_factor_enabled and not await _is_enrolling(ctx, user):
            raise TwoFactorNotEnabled
    await otp.send(ctx, user)
    events.otp_requested(ctx, user.id)  # defence: V44 otp-mail


def _refuse_unavailable(ctx: Context) -> None:
    if not ctx.policy[TwoFactorPolicy].otp_available or (ctx.challenge is not None and ctx.challenge.mailbox):
        raise OtpNotConfigured


async def _is_enrolling(ctx: Context, user: UserRow) -> bool:
    row = await enrolment.find(ctx, user.id)
    return row is not None and row.is_enrolling()


async def verify_otp(ctx: Context, code: str, *, trust_device: bool) -> Verified:
    """Consume an email code, and complete the pending sign-in. For a caller with a first enrolment, enable email codes.

    `trust_device` is for a pending sign-in. Raises Limited, OtpNotConfigured, OtpHasExpired, InvalidCode,
    TooManyAttemptsRequestNewCode, InvalidTwoFactorCookie, BannedUser, AccountTemporarilyLocked and ChallengeSpent.
    """
    await _check_failure_limit(ctx)
    challenge = ctx.challenge
    if challenge is None:
        return await _otp_under_session(ctx, code)
    user, _ = await _enter(ctx, challenge)
    if challenge.mailbox:
        raise OtpNotConfigured
    await _refuse_expired(ctx, user)
    await challenges.take_attempt(ctx, challenge)
    await _use_mailed(ctx, user, code)
    opened = await challenges.complete(
        ctx, challenge, user, method=events.OTP.name, trust_device=trust_device
    )
    return Verified(opened.user, opened)


async def _otp_under_session(ctx: Context, code: str) -> Verified:
    user = await _enter_under_session(ctx)
    await _refuse_expired(ctx, user)
    await _use_mailed(ctx, user, code)
    if not user.two_factor_enabled and await _is_enrolling(ctx, user):
        user = await enrolment.confirm_by_mail(ctx, user)
    return await _verified(ctx, user, events.OTP.name)


async def _refuse_expired(ctx: Context, user: UserRow) -> None:
    if not await otp.is_live(ctx):
        events.two_factor_failed(ctx, user.id, events.OTP.name, OtpHasExpired)
        raise OtpHasExpired


async def _use_mailed(ctx: Context, user: UserRow, code: str) -> None:
    if not await otp.take_try(ctx):
        events.two_factor_refused(ctx, user.id, TooManyAttemptsRequestNewCode)
        raise TooManyAttemptsRequestNewCode
    if not await otp.use(ctx, code):
        await _refuse_wrong(ctx, user, events.OTP.name, InvalidCode)  # defence: V44 wrong-mail-code


async def verify_backup_code(ctx: Context, code: str, *, trust_device: bool) -> Verified:
    """Consume a backup code, and complete the pending sign-in, if there is one.

    `trust_device` is for a pending sign-in. Raises Limited, BackupCodesNotEnabled, InvalidBackupCode, Overloaded,
    InvalidTwoFactorCookie, BannedUser, AccountTemporarilyLocked and ChallengeSpent.
    """
    challenge = ctx.challenge
    owner = ctx.signed_in.user if challenge is None else challenge.user
    stored = await ctx.reads.one(BACKUP_SET_BY_USER, owner.id)
    spent = await limits.is_exhausted(ctx, limits.FailureSubject(owner.id))
    code_hash = None if spent else await _hash_code(ctx, stored, code)
    if challenge is None:
        user = await _enter_under_session(ctx)
    else:
        user, _ = await _enter(ctx, challenge)
    if spent:
        raise StaleRead  # The failures were reset after the limit was read, so the code must be hashed and checked.
    if stored is None:
        raise BackupCodesNotEnabled
    if challenge is not None:
        await challenges.take_attempt(ctx, challenge)
    if not await backup_codes.use(ctx, user.id, stored, code_hash):
        # defence: V44 wrong-backup-code
        await _refuse_wrong(ctx, user, events.BACKUP_CODE.name, InvalidBackupCode)
    if challenge is None:
        return await _verified(ctx, user, events.BACKUP_CODE.name)
    opened = await challenges.complete(
        ctx, challenge, user, method=events.BACKUP_CODE.name, trust_device=trust_device
    )
    return Verified(opened.user, opened)


async def _hash_code(ctx: Context, stored: BackupSetRow | None, code: str) -> bytes | None:
    """Hash the code before the transaction, unless it will certainly be refused."""
    if stored is None or _must_fail(ctx, ctx.challenge, stored):
        return None
    return await backup_codes.hash_code(ctx, stored, code)


def _must_fail(ctx: Context, challenge: Challenge | None, stored: BackupSetRow) -> bool:
    return challenge is not None and (
        challenge.user.is_banned(ctx.now)
        or lockout.is_locked(ctx, stored.locked_until)
        or challenge.attempts >= ctx.policy[TwoFactorPolicy].challenge_attempts
    )


async def _verified(ctx: Context, user: UserRow, method: str) -> Verified:
    """Audit a valid code sent with a session."""
    await lockout.reset_failures(ctx, user.id)
    events.two_factor_verified(ctx, user.id, method)
    return Verified(user, None)


async def _refuse_wrong(ctx: Context, user: UserRow, method: str, refusal: type[errors.Refusal]) -> NoReturn:
    """Count a wrong code and raise its refusal, or Limited; a code of a challenge also counts towards the lock."""
    await limits.count_failure(ctx, limits.FailureSubject(user.id))  # defence: V66 wrong-session-code
    # A session alone must not be able to lock the owner's second factor.
    if ctx.challenge is not None:  # defence: V48 lock-challenge-only
        await lockout.count_wrong(ctx, user, method)
    events.two_factor_failed(ctx, user.id, method, refusal)
    raise refusal
