"""Mailed codes: request one, try one, and what a right one does."""

import hmac
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import col

from domain import errors, tokens
from domain.context import Context
from domain.emails import emails
from domain.emails import events as email_events
from domain.emails.errors import ChangeEmailDisabled, VerificationEmailNotEnabled
from domain.emails.policy import ChangeEmailPolicy, EmailVerificationPolicy
from domain.mail import messages
from domain.mail.policy import MailPolicy
from domain.passwordless import events, magic_links, mails, proof
from domain.passwordless.errors import InvalidOtp, OtpExpired, TooManyAttempts
from domain.passwordless.policy import EmailOtpPolicy
from domain.passwordless.proof import MailboxSignIn, NewUser
from domain.passwords import passwords, strength
from domain.passwords.errors import ResetPasswordDisabled
from domain.passwords.policy import PasswordPolicy, PasswordResetPolicy
from domain.rate_limits import limits
from domain.users import locking, lookup, profile
from models import OneTimeToken, Purpose
from models.queries import PASSWORD_BY_EMAIL, UserRow
from models.statements import upsert

METHOD = "email_otp"


@dataclass(frozen=True, slots=True)
class CodeType:
    """What a code is for: its name on the wire, its rows, its email, and the limit of its emails."""

    name: str
    purpose: Purpose
    template: str
    family: limits.Family


SIGN_IN = CodeType("sign-in", Purpose.CODE_SIGN_IN, "sign-in-code", "sign-in-mail")
VERIFY = CodeType("email-verification", Purpose.CODE_VERIFY, "verify-email-code", "links")
RESET = CodeType("forget-password", Purpose.CODE_RESET, "reset-password-code", "links")
CHANGE = CodeType("change-email", Purpose.CODE_CHANGE, "change-email-code", "links")
REQUESTED = {kind.name: kind for kind in (SIGN_IN, VERIFY, RESET)}
"""The codes that can be requested without a session, by name."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What a code is bound to: a purpose, an address and, for a change of address, a user."""

    kind: CodeType
    email: str
    user_id: str | None = None

    @property
    def key(self) -> bytes:
        """The key of the only code with this binding."""
        return tokens.digest(f"{self.kind.purpose} {self.email} {self.user_id or ''}")

    def digests(self, ctx: Context, user_id: str | None, code: str) -> list[bytes]:
        """Return the keyed digests of a code, newest service key first."""
        return ctx.cipher.digests(
            f"grant.{self.kind.purpose}", f"{self.key.hex()} {self.email} {user_id} {code}"
        )

    def rows(self) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions of the row of this code."""

        return col(OneTimeToken.digest) == self.key, col(OneTimeToken.purpose) == self.kind.purpose


@dataclass(frozen=True, slots=True)
class RightCode:
    """A code that was compared and is right, not yet used up."""

    binding: Binding
    stored: bytes

    async def use(self, ctx: Context) -> None:
        """Use it up; of any number of simultaneous calls one succeeds. Raises InvalidOtp."""
        same = (
            *self.binding.rows(),
            col(OneTimeToken.code) == self.stored,
            col(OneTimeToken.expires_at) > ctx.now,
        )
        used = delete(OneTimeToken).where(*same).returning(col(OneTimeToken.digest))
        if not await ctx.db.execute(used):  # defence: M18 used-once
            raise InvalidOtp


# --- Requests -------------------------------------------------------------------------------------------------


def request(ctx: Context, email: str, kind: CodeType) -> None:
    """Queue the request for a code; the user is looked up in the background.

    Raises ResetPasswordDisabled and VerificationEmailNotEnabled, for every address.
    """
    sender = ctx.policy[MailPolicy].sender
    if kind is RESET:
        sender = ctx.policy[PasswordResetPolicy].sender
        if sender == "none":
            raise ResetPasswordDisabled
    if kind is VERIFY and not (
        ctx.policy[EmailVerificationPolicy].enabled or ctx.policy[EmailOtpPolicy].verify_current_email
    ):
        raise VerificationEmailNotEnabled
    messages.queue_request(ctx, kind.template, sender, email.lower(), None)


@messages.resolves("sign-in-code")
async def resolve_sign_in(ctx: Context, email: str, target: str | None) -> None:
    """In the background: send a sign-in code to a user or, if sign-up is open, to a new one."""
    user = await locking.lock_by_email(ctx, email)
    reason = magic_links.refusal_of(ctx, user, method_allows=ctx.policy[EmailOtpPolicy].sign_up)
    await _send(ctx, Binding(SIGN_IN, email), user, reason)


@messages.resolves("verify-email-code")
async def resolve_verification(ctx: Context, email: str, target: str | None) -> None:
    """In the background: send a verification code to an unverified user; to any if changes of address need it."""
    user = await locking.lock_by_email(ctx, email)
    reason = None
    if user is None:
        reason = "no such user"
    elif user.email_verified and not ctx.policy[EmailOtpPolicy].verify_current_email:
        reason = "verified already"
    await _send(ctx, Binding(VERIFY, email), user, reason)


@messages.resolves("reset-password-code")
async def resolve_reset(ctx: Context, email: str, target: str | None) -> None:
    """In the background: send a reset code if the user exists."""
    user = await locking.lock_by_email(ctx, email)
    await _send(ctx, Binding(RESET, email), user, "no such user" if user is None else None)


async def _send(ctx: Context, binding: Binding, user: UserRow | None, reason: str | None) -> None:
    """Store a new code, replacing an older one, and mail it; with a `reason` store and mail a decoy.

    The row of a decoy has attempts and an expiry as any other, so that responses do not differ.
    """
    kind = binding.kind
    events.code_requested(ctx, user, binding.email, kind.name, reason)
    family: limits.Family = kind.family if reason is None or kind is SIGN_IN else "nobody"
    if not await limits.may_mail(ctx, family, binding.email):
        return
    lives = ctx.policy[EmailOtpPolicy].expires_in
    code = tokens.digits(6)
    user_id = None if user is None else user.id
    # Nobody can type the code of a decoy: it is no six digits.
    kept = binding.digests(ctx, user_id, code if reason is None else tokens.token())[0]
    values: dict[str, Any] = {
        "digest": binding.key,
        "purpose": kind.purpose,
        "user_id": user_id,
        "email": binding.email,
        "code": kept,
        "attempts": 0,
        "expires_at": ctx.now + lives,
        "created_at": ctx.now,
        "updated_at": ctx.now,
    }
    adding = upsert(ctx.db.dialect, OneTimeToken).values(values)
    await ctx.db.execute(adding.on_conflict_do_update(index_elements=["digest"], set_=values))
    sender = ctx.policy[PasswordResetPolicy].sender if kind is RESET else None
    to = binding.email if reason is None else messages.NOBODY.email
    mails.code(ctx, kind.template, user or messages.NOBODY, to, code, lives, sender)


# --- Attempts -------------------------------------------------------------------------------------------------


async def _subject(ctx: Context, email: str) -> limits.FailureSubject:
    """Return whose failures count, after checking that none are too many. Call it outside the transaction."""
    found = await ctx.reads.one(PASSWORD_BY_EMAIL, email)
    subject = limits.FailureSubject(found and found.user_id, email)
    await limits.check(ctx, subject)
    return subject


async def _compare(ctx: Context, binding: Binding, otp: str, subject: limits.FailureSubject) -> RightCode:
    """Take an attempt and compare. Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited."""
    expiry = (await ctx.db.execute(select(col(OneTimeToken.expires_at)).where(*binding.rows()))).scalar()
    if expiry is None:
        raise _failed(ctx, binding, subject, InvalidOtp)
    if expiry <= ctx.now:
        raise _failed(ctx, binding, subject, OtpExpired)
    # defence: M10 attempts
    left = col(OneTimeToken.attempts) < ctx.policy[EmailOtpPolicy].attempts
    taken = update(OneTimeToken).where(*binding.rows(), col(OneTimeToken.expires_at) > ctx.now, left)
    taken = taken.values(attempts=col(OneTimeToken.attempts) + 1, updated_at=ctx.now)
    row = (await ctx.db.execute(taken.returning(col(OneTimeToken.code), col(OneTimeToken.user_id)))).first()
    if row is None:
        await ctx.db.execute(delete(OneTimeToken).where(*binding.rows()))
        events.code_exhausted(ctx, subject.user_id, binding.email, binding.kind.name, TooManyAttempts)
        raise TooManyAttempts
    is_right = [hmac.compare_digest(row.code, wanted) for wanted in binding.digests(ctx, row.user_id, otp)]
    if not any(is_right):  # defence: M10 compared
        await limits.count_failure(ctx, subject)  # defence: M10 failure
        raise _failed(ctx, binding, subject, InvalidOtp)
    await limits.check(ctx, subject)
    return RightCode(binding, row.code)


def _failed(
    ctx: Context, binding: Binding, subject: limits.FailureSubject, refusal: type[errors.Refusal]
) -> errors.Refusal:
    events.code_failed(ctx, subject.user_id, binding.email, binding.kind.name, refusal)
    return refusal()


async def _peek(
    ctx: Context, binding: Binding, otp: str, subject: limits.FailureSubject
) -> tuple[RightCode, UserRow | None]:
    """Compare a code, and give the attempt back if it is right; the code is not used up."""
    user = await locking.lock_by_email(ctx, binding.email)
    right = await _compare(ctx, binding, otp, subject)
    back = update(OneTimeToken).where(*binding.rows(), col(OneTimeToken.code) == right.stored)
    await ctx.db.execute(back.values(attempts=col(OneTimeToken.attempts) - 1))
    return right, user


async def check(ctx: Context, email: str, kind: CodeType, otp: str) -> None:
    """Check a code without using it up. Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited."""
    email = email.lower()
    await _peek(ctx, Binding(kind, email), otp, await _subject(ctx, email))


async def verify_email(ctx: Context, email: str, otp: str) -> UserRow:
    """Verify an address by its code; return the user. Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited."""
    email = email.lower()
    subject = await _subject(ctx, email)
    user = await locking.lock_by_email(ctx, email)
    await (await _compare(ctx, Binding(VERIFY, email), otp, subject)).use(ctx)
    if user is None:
        raise InvalidOtp
    await limits.reset_failures(ctx, user.id)
    if user.email_verified:
        return user
    email_events.email_verified(ctx, user.id)
    return await profile.change(ctx, user, email_verified=True)


async def sign_in(
    ctx: Context, email: str, otp: str, *, name: str, image: str | None, remembered: bool
) -> MailboxSignIn:
    """Sign in with a code.

    Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited, NewUserSignupDisabled, BannedMailboxUser.
    """
    email = email.lower()
    subject = await _subject(ctx, email)
    user = await locking.lock_by_email(ctx, email)
    await (await _compare(ctx, Binding(SIGN_IN, email), otp, subject)).use(ctx)
    new = NewUser(ctx.policy[EmailOtpPolicy].sign_up, name, image)
    return await proof.sign_in(ctx, user, email, new, method=METHOD, remembered=remembered)


async def reset_password(ctx: Context, email: str, otp: str, new: str) -> None:
    """Replace a forgotten password; a refused password does not use up the code.

    Raises ResetPasswordDisabled, PasswordTooLong, PasswordTooShort, the errors of a code, PasswordTooCommon.
    """
    if ctx.policy[PasswordResetPolicy].sender == "none":
        raise ResetPasswordDisabled
    strength.check_length(ctx.policy[PasswordPolicy], new)
    email = email.lower()
    job = partial(_peek, binding=Binding(RESET, email), otp=otp, subject=await _subject(ctx, email))
    # In a transaction of its own: no password is hashed within one, and none for a wrong code.
    right, seen = await ctx.in_new_transaction(job)
    if seen is None:
        raise InvalidOtp
    hashed = await passwords.hash_for(ctx, seen, new)
    user = await locking.lock(ctx, seen.id)
    await right.use(ctx)
    if user is None:
        raise InvalidOtp
    await passwords.complete_reset(ctx, user, hashed)


# --- Change of address ----------------------------------------------------------------------------------------


async def request_change(ctx: Context, new_email: str, otp: str | None) -> None:
    """Send a code to a new address; a taken one gets the same response and no email.

    Raises ChangeEmailDisabled, ValidationError, and with `verify_current_email` the errors of a code.
    """
    new_email = new_email.lower()
    _refuse_change(ctx, new_email)
    needs_code = ctx.policy[EmailOtpPolicy].verify_current_email
    if needs_code and otp is None:
        message = "A code sent to the current address is required"
        raise errors.ValidationError(message, errors.Field("body", "otp", message))
    subject = await _subject(ctx, ctx.signed_in.user.email) if needs_code else None
    user = await locking.lock_caller(ctx)
    if subject is not None and otp is not None:
        await (await _compare(ctx, Binding(VERIFY, user.email), otp, subject)).use(ctx)
    is_taken = await lookup.by_email(ctx, new_email) is not None
    email_events.email_change_requested(ctx, is_taken=is_taken)
    await _send(ctx, Binding(CHANGE, new_email, user.id), user, "address taken" if is_taken else None)


def _refuse_change(ctx: Context, new_email: str) -> None:
    if not ctx.policy[ChangeEmailPolicy].enabled:
        raise ChangeEmailDisabled
    if new_email == ctx.signed_in.user.email:
        message = "Email is the same"
        raise errors.ValidationError(message, errors.Field("body", "newEmail", message))


async def change_email(ctx: Context, new_email: str, otp: str) -> None:
    """Change the caller's address with the code sent to the new one.

    Raises ChangeEmailDisabled, ValidationError, the errors of a code; InvalidOtp if the address was taken meanwhile.
    """
    new_email = new_email.lower()
    _refuse_change(ctx, new_email)
    subject = limits.FailureSubject(ctx.signed_in.user.id)
    await limits.check(ctx, subject)
    user = await locking.lock_caller(ctx)
    await (await _compare(ctx, Binding(CHANGE, new_email, user.id), otp, subject)).use(ctx)
    if await lookup.by_email(ctx, new_email) is not None:
        raise InvalidOtp
    await emails.set_address(ctx, user, new_email, verified=True)
