"""Codes by mail: each is bound to one challenge, or to one session where there is none."""

from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.rate_limits import limits
from domain.two_factor import mails
from domain.two_factor.policy import TwoFactorPolicy
from models import OneTimeToken, Purpose
from models.queries import UserRow

_PURPOSE = "grant.code"
"""The purpose under which codes are digested."""


async def send(ctx: Context, user: UserRow) -> None:
    """Mail the user a new code in place of any older one of the same binding; which stays if they got too many."""
    if not await limits.may_mail(ctx, "otp", user.email):  # defence: V74 code-mails
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
    """Whether a code is out that could still be entered."""
    return (await ctx.db.execute(select(col(OneTimeToken.digest)).where(*_live(ctx)))).first() is not None


async def take_try(ctx: Context) -> bool:
    """Take one of the tries of the live code; when none is left the code is gone, and the answer is no."""
    left = col(OneTimeToken.attempts) < ctx.policy[TwoFactorPolicy].otp_attempts
    taken = update(OneTimeToken).where(*_live(ctx), left).values(attempts=col(OneTimeToken.attempts) + 1)
    if (await ctx.db.execute(taken.returning(col(OneTimeToken.digest)))).first() is not None:
        return True
    await discard(ctx)
    return False


async def use(ctx: Context, code: str) -> bool:
    """Use the live code up if it is this one; of any number of simultaneous calls exactly one is told yes."""
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
    """Return the code's keyed digests, the newest first. With its binding in it, it fits nowhere else."""
    return ctx.cipher.digests(_PURPOSE, f"{_binding(ctx)} {code}")
