"""Sign-ins that wait for their second factor: made by the gate, found, tried, and finished (behaviour 6.3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import col

from domain import (
    audit,
    enrolment,
    errors,
    limits,
    lockout,
    mail_codes,
    secrets,
    sessions,
    trusted_devices,
    users,
)
from domain.context import Challenge, Context
from domain.ports import Reads
from domain.sessions import OpenedSession
from models import Grant, Purpose, TwoFactor, User
from models.queries import GRANT_BY_DIGEST, UserRow

PREFIX = "2fa_"
Method = Literal["totp", "otp"]


@dataclass(frozen=True, slots=True)
class Pending:
    """A sign-in that got no session yet: the token that stands for it, and what the user may enter."""

    token: str = field(repr=False)
    methods: Sequence[Method]
    forget_device: bool
    """Whether the cookie that says the device is trusted is worth nothing."""


async def make(ctx: Context, user: User | UserRow, *, remembered: bool) -> Pending:
    """Make a challenge for a user who has proven all but the second factor."""
    token = PREFIX + secrets.token()
    ctx.db.add(
        Grant(
            digest=secrets.digest(token),
            purpose=Purpose.CHALLENGE,
            user_id=user.id,
            remembered=remembered,
            expires_at=ctx.now + ctx.policy.two_factor.challenge_expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    return Pending(token, await _methods(ctx, user), await trusted_devices.is_dead(ctx))


async def _methods(ctx: Context, user: User | UserRow) -> list[Method]:
    row = await enrolment.find(ctx, user.id)
    methods: list[Method] = ["totp"] if row is not None and row.has_live_secret() else []
    return [*methods, "otp"] if ctx.policy.two_factor.otp_available else methods


async def find(reads: Reads, token: str, now: datetime) -> Challenge | None:
    """Give the live challenge behind a pending token and its user, by one statement; nothing is used up."""
    if not token.startswith(PREFIX) or not secrets.is_token(token.removeprefix(PREFIX)):
        return None
    digest = secrets.digest(token)
    found = await reads.one(GRANT_BY_DIGEST, digest)
    if found is None or found[0].purpose != Purpose.CHALLENGE or found[0].expires_at <= now:
        return None
    grant, user = found
    return Challenge(digest, user, bool(grant.remembered), grant.attempts)


async def enter(ctx: Context, challenge: Challenge) -> tuple[User, TwoFactor]:
    """Begin to verify: give the user, locked, and what is stored of their second factor.

    Raises InvalidTwoFactorCookie when the challenge is gone meanwhile, BannedUser, AccountTemporarilyLocked.
    """
    user = await users.lock(ctx, challenge.user.id)
    alive = select(col(Grant.digest)).where(*_live(ctx, challenge))
    if user is None or (await ctx.db.execute(alive)).first() is None:
        raise errors.InvalidTwoFactorCookie
    if user.is_banned(ctx.now):
        audit.sign_in_banned(ctx, user.id, None, errors.BannedUser)
        raise errors.BannedUser
    row = await enrolment.row_of(ctx, user.id)
    lockout.refuse(ctx, row)
    return user, row


async def take_attempt(ctx: Context, challenge: Challenge) -> None:
    """Take one of the attempts of a live challenge, over all methods. Raises ChallengeSpent when none is left."""
    left = col(Grant.attempts) < ctx.policy.two_factor.challenge_attempts
    taken = update(Grant).where(*_live(ctx, challenge), left)
    taken = taken.values(attempts=col(Grant.attempts) + 1, updated_at=ctx.now)
    taken = taken.execution_options(synchronize_session=False)
    if (await ctx.db.execute(taken.returning(col(Grant.digest)))).first() is None:
        await _use_up(ctx, challenge)
        audit.two_factor_refused(ctx, challenge.user.id, errors.ChallengeSpent)
        raise errors.ChallengeSpent


async def finish(
    ctx: Context, challenge: Challenge, user: User, *, method: str, trust_device: bool
) -> OpenedSession:
    """Sign the user in after a right code. Raises InvalidTwoFactorCookie for whoever comes second."""
    if not await _use_up(ctx, challenge):
        raise errors.InvalidTwoFactorCookie
    await lockout.forgive(ctx, user.id)
    await limits.signed_in(ctx, user.id)
    opened = await sessions.create(ctx, user, remembered=challenge.remembered, method=method)
    audit.two_factor_verified(ctx, user.id, method)
    audit.sign_in_succeeded(ctx, user.id, opened.session.id, method)
    return replace(opened, device=trusted_devices.trust(ctx, user.id)) if trust_device else opened


async def _use_up(ctx: Context, challenge: Challenge) -> bool:
    await mail_codes.discard(ctx)
    gone = delete(Grant).where(*_live(ctx, challenge)).returning(col(Grant.digest))
    return (await ctx.db.execute(gone.execution_options(synchronize_session=False))).first() is not None


def _live(ctx: Context, challenge: Challenge) -> tuple[ColumnElement[bool], ...]:
    return (
        col(Grant.digest) == challenge.digest,
        col(Grant.purpose) == Purpose.CHALLENGE,
        col(Grant.expires_at) > ctx.now,
    )
