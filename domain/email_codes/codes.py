"""Codes sent to an email address: store and send a code, use an attempt, use up the code."""

import hmac
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Insert, bindparam, delete, select, update
from sqlmodel import col

from domain import errors, tokens
from domain.context import Context
from domain.email_codes import events, mails
from domain.email_codes.errors import InvalidOtp, OtpExpired, TooManyAttempts
from domain.email_codes.policy import EmailCodePolicy
from domain.mail import messages, outbox
from domain.mail.templates import MailTemplate
from domain.passwords.policy import PasswordResetPolicy
from domain.ports import Cipher
from domain.rate_limits import limits
from domain.users import locking
from models import OneTimeToken, Purpose
from models.account import PASSWORD_BY_EMAIL
from models.statements import upsert
from models.user import UserRow


@dataclass(frozen=True, slots=True)
class CodeType:
    """A type of code: its name in requests, the purpose of its rows, its email, and the rate limit of its emails."""

    name: str
    purpose: Purpose
    template: MailTemplate
    family: limits.MailFamily


# A limit of its own: a stranger who requests other mails must not use up those that a user needs to sign in.
# defence: M15 own-limit
SIGN_IN = CodeType("sign-in", Purpose.CODE_SIGN_IN, mails.SIGN_IN_CODE, limits.SIGN_IN)
VERIFY = CodeType("email-verification", Purpose.CODE_VERIFY, mails.VERIFY_EMAIL_CODE, limits.LINKS)
RESET = CodeType("forget-password", Purpose.CODE_RESET, mails.RESET_PASSWORD_CODE, limits.LINKS)
CHANGE = CodeType("change-email", Purpose.CODE_CHANGE, mails.CHANGE_EMAIL_CODE, limits.LINKS)
REQUESTED = {kind.name: kind for kind in (SIGN_IN, VERIFY, RESET)}
"""The codes that can be requested without a session, by name."""

# Built once, because each statement object is compiled once.
# defence: M11 rows
_SAME = (col(OneTimeToken.digest) == bindparam("key"), col(OneTimeToken.purpose) == bindparam("kind"))
_LIVE = col(OneTimeToken.expires_at) > bindparam("now")
_COMPARED = col(OneTimeToken.code) == bindparam("compared")
# Part of the update, so that concurrent guesses cannot take more attempts than there are.
_LEFT = col(OneTimeToken.attempts) < bindparam("most")  # defence: M10 attempts
_EXPIRY = select(col(OneTimeToken.expires_at)).where(*_SAME)
_TAKE_ATTEMPT = (
    update(OneTimeToken)
    .where(*_SAME, _LIVE, _LEFT)
    .values(attempts=col(OneTimeToken.attempts) + 1, updated_at=bindparam("now"))
    .returning(col(OneTimeToken.code), col(OneTimeToken.user_id))
)
_GIVE_BACK = update(OneTimeToken).where(*_SAME, _COMPARED).values(attempts=col(OneTimeToken.attempts) - 1)
_SPENT = delete(OneTimeToken).where(*_SAME, ~_LEFT).returning(col(OneTimeToken.digest))
_USED = delete(OneTimeToken).where(*_SAME, _COMPARED, _LIVE).returning(col(OneTimeToken.digest))


@dataclass(frozen=True, slots=True)
class Binding:
    """What a code is valid for: a type, an email address and, for a change of address, a user."""

    kind: CodeType
    email: str
    user_id: str | None = None

    @property
    def key(self) -> bytes:
        """The key under which the code with this binding is stored; there is at most one such code."""
        # defence: M11 key
        return tokens.digest(f"{self.kind.purpose} {self.email} {self.user_id or ''}")

    def digests(self, cipher: Cipher, user_id: str | None, code: str) -> list[bytes]:
        """Return the keyed digests of a code, one per service key, that of the newest key first."""
        # defence: M11 digest
        return cipher.digests(f"grant.{self.kind.purpose}", f"{self.key.hex()} {self.email} {user_id} {code}")

    @property
    def row(self) -> dict[str, Any]:
        """The parameters by which a statement finds the row of the code."""
        return {"key": self.key, "kind": self.kind.purpose}


@dataclass(frozen=True, slots=True)
class VerifiedCode:
    """A correct code that is not yet used up."""

    binding: Binding
    stored: bytes

    async def use(self, ctx: Context) -> None:
        """Use up the code; of any number of simultaneous calls exactly one succeeds. Raises InvalidOtp."""
        used = await ctx.db.execute(_USED, **self.binding.row, compared=self.stored, now=ctx.now)
        if not used:  # defence: M18 used-once
            raise InvalidOtp


async def send(ctx: Context, binding: Binding, user: UserRow | None, reason: str | None) -> None:
    """Store a new code in place of an older one, and queue its email, unless the limit of emails is reached.

    `reason` says why the address must get no code; None if it gets one. With a reason, a decoy is stored and queued
    instead. It has attempts and an expiry like any code, so that responses do not reveal it.
    """
    code_type = binding.kind
    events.code_requested(ctx, user, binding.email, code_type.name, reason)
    family = code_type.family if reason is None or code_type is SIGN_IN else limits.DECOYS
    if not await limits.may_mail(ctx, family, binding.email):
        return
    expires_in = ctx.policy[EmailCodePolicy].expires_in
    code = tokens.digits(6)
    user_id = None if user is None else user.id
    # No request can match the code of a decoy, because it does not consist of six digits.
    kept = binding.digests(ctx.cipher, user_id, code if reason is None else tokens.token())[0]
    values: dict[str, Any] = {  # defence: M13 decoy
        "digest": binding.key,
        "purpose": code_type.purpose,
        "user_id": user_id,
        "email": binding.email,
        # A digest under a service key: six digits could be found from a plain digest in milliseconds.
        "code": kept,  # defence: M9 code-digest
        "attempts": 0,
        "expires_at": ctx.now + expires_in,
        "created_at": ctx.now,
        "updated_at": ctx.now,
    }
    await ctx.db.execute(_replacing(ctx.db.dialect), **values)
    sender = ctx.policy[PasswordResetPolicy].sender if code_type is RESET else None
    to = binding.email if reason is None else outbox.DECOY_ADDRESS
    mails.code(ctx, code_type.template, user or messages.UNREGISTERED, to, code, expires_in, sender)


@cache
def _replacing(dialect: str) -> Insert:
    """Return the statement that stores a code in place of an older one with the same binding."""
    adding = upsert(dialect, OneTimeToken)
    changed = ("user_id", "email", "code", "attempts", "expires_at", "created_at", "updated_at")
    replacing: Insert = adding.on_conflict_do_update(
        index_elements=["digest"], set_={name: adding.excluded[name] for name in changed}
    )
    return replacing


async def failure_subject(ctx: Context, email: str) -> limits.FailureSubject:
    """Return the subject for which failures with codes of this address are counted, after checking its limit.

    Call it outside the transaction. Raises Limited, Unavailable.
    """
    row = await ctx.reads.one(PASSWORD_BY_EMAIL, email)
    subject = limits.FailureSubject(row and row.user_id, email)
    await limits.check(ctx, subject)
    return subject


async def compare(ctx: Context, binding: Binding, otp: str, subject: limits.FailureSubject) -> VerifiedCode:
    """Use one attempt to compare `otp` with the stored code; return the code if it is correct, but do not use it up.

    Raises InvalidOtp, OtpExpired, TooManyAttempts, Limited.
    """
    row, most = binding.row, ctx.policy[EmailCodePolicy].attempts
    taken = (await ctx.db.execute(_TAKE_ATTEMPT, **row, now=ctx.now, most=most)).first()
    if taken is None:
        expiry = (await ctx.db.execute(_EXPIRY, **row)).scalar()
        if expiry is None:
            raise _failed(ctx, binding, subject, InvalidOtp)
        if expiry <= ctx.now:
            raise _failed(ctx, binding, subject, OtpExpired)
        # The first of several concurrent requests deletes the exhausted code; the others must not report it again.
        spent = await ctx.db.execute(_SPENT, **row, most=most)
        if not spent:  # defence: M10 exhausted
            raise _failed(ctx, binding, subject, InvalidOtp)
        events.code_exhausted(ctx, subject.user_id, binding.email, binding.kind.name, TooManyAttempts)
        raise TooManyAttempts
    is_right = [
        hmac.compare_digest(taken.code, digest) for digest in binding.digests(ctx.cipher, taken.user_id, otp)
    ]
    if not any(is_right):  # defence: M10 compared
        await limits.count_failure(ctx, subject)  # defence: M10 failure
        raise _failed(ctx, binding, subject, InvalidOtp)
    await limits.check(ctx, subject)
    return VerifiedCode(binding, taken.code)


def _failed(
    ctx: Context, binding: Binding, subject: limits.FailureSubject, refusal: type[errors.Refusal]
) -> errors.Refusal:
    events.code_failed(ctx, subject.user_id, binding.email, binding.kind.name, refusal)
    return refusal()


async def peek(
    ctx: Context, binding: Binding, otp: str, subject: limits.FailureSubject
) -> tuple[VerifiedCode, UserRow | None]:
    """Compare a code as `compare` does, with the same errors, and restore the attempt if the code is correct.

    Returns the code, which is not used up, and the locked user of the address, None if it has none.
    """
    user = await locking.lock_by_email(ctx, binding.email)
    right = await compare(ctx, binding, otp, subject)
    # Comparing takes an attempt. A right code is compared again when it is used, and must not cost two.
    await ctx.db.execute(_GIVE_BACK, **binding.row, compared=right.stored)  # defence: M18 given-back
    return right, user
