"""Email codes of the second factor. A code is valid only for the pending sign-in or the session that requested it."""

from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.rate_limits import limits
from domain.two_factor import mails
from domain.two_factor.policy import TwoFactorPolicy
from models import OneTimeToken, Purpose
from models.user import UserRow

_PURPOSE = "grant.code"
"""The purpose under which codes are digested."""
_MAILS = limits.MailFamily("otp")


async def send(ctx: Context, user: UserRow) -> None:
    """Email the user a new code, which replaces the previous one of this challenge or session.

    If the limit of emails is reached, nothing is sent and the previous code stays valid.
    """
    if not await limits.may_mail(ctx, _MAILS, user.email):  # defence: V74 code-mails
        return
    code = tokens.digits(6)
    await discard(ctx)
    ctx.db.add(
        OneTimeToken(
            digest=_digest(ctx),
            purpose=Purpose.MAIL_CODE,
            user_id=user.id,
            code=_keyed(ctx, code)[0],
            expires_at=ctx.now + ctx.policy[TwoFactorPolicy].otp_expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    mails.otp(ctx, user, code)


async def is_live(ctx: Context) -> bool:
    """Return whether this challenge or session has a code that has not expired."""
    return (await ctx.db.execute(select(col(OneTimeToken.digest)).where(*_live(ctx)))).first() is not None


async def take_try(ctx: Context) -> bool:
    """Count an attempt at the active code; return False, and delete the code, if no attempt is left."""
    left = col(OneTimeToken.attempts) < ctx.policy[TwoFactorPolicy].otp_attempts
    taken = update(OneTimeToken).where(*_live(ctx), left).values(attempts=col(OneTimeToken.attempts) + 1)
    if (await ctx.db.execute(taken.returning(col(OneTimeToken.digest)))).first() is not None:
        return True
    await discard(ctx)
    return False


async def use(ctx: Context, code: str) -> bool:
    """Delete the active code if it is `code`, and return True; of simultaneous calls exactly one returns True."""
    # defence: V46 R19 use-code
    used = delete(OneTimeToken).where(*_live(ctx), col(OneTimeToken.code).in_(_keyed(ctx, code)))
    # defence: R19 used-code
    return (await ctx.db.execute(used.returning(col(OneTimeToken.digest)))).first() is not None


async def discard(ctx: Context) -> None:
    """Delete the code of this challenge or session."""
    bound = delete(OneTimeToken).where(
        col(OneTimeToken.digest) == _digest(ctx), col(OneTimeToken.purpose) == Purpose.MAIL_CODE
    )
    await ctx.db.execute(bound)


def _live(ctx: Context) -> tuple[ColumnElement[bool], ...]:
    return (
        col(OneTimeToken.digest) == _digest(ctx),
        col(OneTimeToken.purpose) == Purpose.MAIL_CODE,
        col(OneTimeToken.expires_at) > ctx.now,
    )


def _binding(ctx: Context) -> str:
    if ctx.challenge is not None:
        return f"challenge {ctx.challenge.digest.hex()}"
    return f"session {ctx.signed_in.session.id}"


def _digest(ctx: Context) -> bytes:
    return tokens.digest(_binding(ctx))


def _keyed(ctx: Context, code: str) -> list[bytes]:
    """Return the code's keyed digests, newest first. They include the binding, so that a code is valid only for it."""
    return ctx.cipher.digests(_PURPOSE, f"{_binding(ctx)} {code}")
