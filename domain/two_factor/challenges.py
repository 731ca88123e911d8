"""Challenges: stored sign-ins that wait for a second factor. Create, find and complete them, and count attempts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, delete, select, update
from sqlmodel import col

from domain import tokens
from domain.authentication_methods import amr_of
from domain.context import Challenge, Context
from domain.ports import Reads
from domain.rate_limits import limits
from domain.sessions import events as session_events
from domain.sessions import sessions, sso_origin
from domain.sessions.sessions import OpenedSession
from domain.sessions.sso_origin import SsoOrigin
from domain.sso_enforcement import enforcement
from domain.sso_enforcement.errors import SsoRequired
from domain.sso_provisioning import provisioning
from domain.sso_provisioning.provisioning import SignInEnded
from domain.trusted_devices import trusted_devices
from domain.two_factor import enrolment, events, lockout, otp
from domain.two_factor.errors import ChallengeSpent, InvalidTwoFactorCookie
from domain.two_factor.policy import TwoFactorPolicy
from domain.users import locking
from domain.users.errors import BannedUser
from models import OneTimeToken, Purpose
from models.one_time_token import ONE_TIME_TOKEN_BY_DIGEST
from models.two_factor import TwoFactorRow
from models.user import UserRow

PREFIX = "2fa_"
_MAILBOX = b"mailbox"
"""The mark of a challenge that follows a proof by email."""
Method = Literal["totp", "otp"]


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that waits for a second factor: the pending token of its challenge, and the methods of the user."""

    token: str = field(repr=False)
    user_id: str
    methods: Sequence[Method]
    forget_device: bool
    """Whether the cookie of the trusted device is invalid."""


async def create(
    ctx: Context,
    user: UserRow,
    *,
    remembered: bool,
    mailbox: bool = False,
    origin: SsoOrigin | None = None,
) -> PendingSignIn:
    """Create a challenge for a user who has passed everything but the second factor.

    `mailbox` means that the first factor was an email; a code by email is then not accepted as the second factor.
    `origin` describes the sign-in through a connection, if it was one, and is stored for the session.
    """
    token = PREFIX + tokens.token()
    ctx.db.add(
        # A token of another form, in another table: no operation can take a half-finished sign-in for a session.
        # defence: V43 pending-token
        OneTimeToken(
            digest=tokens.digest(token),
            purpose=Purpose.CHALLENGE,
            user_id=user.id,
            remembered=remembered,
            binding=_MAILBOX if mailbox else None,
            email=user.email if mailbox else None,
            payload=None if origin is None else sso_origin.encrypt(ctx, origin),
            expires_at=ctx.now + ctx.policy[TwoFactorPolicy].challenge_expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    # defence: V43 V44 pending-sign-in
    return PendingSignIn(
        token, user.id, await methods_of(ctx, user, mailbox=mailbox), await trusted_devices.is_dead(ctx)
    )


async def methods_of(ctx: Context, user: UserRow, *, mailbox: bool) -> list[Method]:
    """Return the methods with which a user can complete a sign-in, except backup codes; `mailbox` as in `create`."""
    row = await enrolment.find(ctx, user.id)
    methods: list[Method] = ["totp"] if row is not None and row.has_live_secret() else []
    # A code by email is no second factor after a sign-in that has proven the same mailbox.
    # defence: M16 methods
    return [*methods, "otp"] if ctx.policy[TwoFactorPolicy].otp_available and not mailbox else methods


def has_form(text: str) -> bool:
    """Return whether a text has the form of a pending token, the token of a challenge."""
    return text.startswith(PREFIX) and tokens.is_token(text.removeprefix(PREFIX))


async def find(reads: Reads, token: str, now: datetime) -> Challenge | None:
    """Return the active challenge of a pending token, with its user, without consuming it; None if there is none."""
    if not has_form(token):
        return None
    digest = tokens.digest(token)
    joined = await reads.one(ONE_TIME_TOKEN_BY_DIGEST, digest)
    if joined is None or joined[0].purpose != Purpose.CHALLENGE or joined[0].expires_at <= now:
        return None
    row, user = joined
    return Challenge(digest, user, bool(row.remembered), row.attempts, row.binding == _MAILBOX, row.email)


async def load(ctx: Context, challenge: Challenge) -> tuple[UserRow, TwoFactorRow]:
    """Lock and return the user of a challenge, with the stored data of their second factor, to check a code.

    Raises InvalidTwoFactorCookie if the challenge has ended since it was read, BannedUser, AccountTemporarilyLocked.
    """
    user = await _lock_live(ctx, challenge)
    if user is None:
        raise InvalidTwoFactorCookie
    if user.is_banned(ctx.now):  # defence: V33 challenge-ban
        session_events.sign_in_banned(ctx, user.id, None, BannedUser)
        raise BannedUser
    row = await enrolment.row_of(ctx, user.id)
    lockout.refuse(ctx, row)  # defence: V44 lock
    return user, row


async def proven_user(ctx: Context, challenge: Challenge) -> UserRow | None:
    """Lock and return the user of an active challenge; None unless the first factor proved their current address."""
    if not challenge.mailbox:  # defence: N1 proven-mailbox
        return None
    user = await _lock_live(ctx, challenge)
    # defence: N1 proven-address
    return user if user is not None and user.email == challenge.email else None


async def _lock_live(ctx: Context, challenge: Challenge) -> UserRow | None:
    """Return the user of a challenge, locked; None if the challenge has ended."""
    user = await locking.lock(ctx, challenge.user.id)
    alive = select(col(OneTimeToken.digest)).where(*_live(ctx, challenge))
    return user if await ctx.db.execute(alive) else None


async def take_attempt(ctx: Context, challenge: Challenge) -> None:
    """Count an attempt at a challenge; all methods share the attempts. Raises ChallengeSpent if none is left."""
    # Taken by one update before the code is checked, so that a burst gets no more attempts than allowed.
    # defence: V44 V45 attempts
    left = col(OneTimeToken.attempts) < ctx.policy[TwoFactorPolicy].challenge_attempts
    taken = update(OneTimeToken).where(*_live(ctx, challenge), left)
    taken = taken.values(attempts=col(OneTimeToken.attempts) + 1, updated_at=ctx.now)
    if (await ctx.db.execute(taken.returning(col(OneTimeToken.digest)))).first() is None:
        await _use_up(ctx, challenge)  # defence: V44 spent-challenge
        events.two_factor_refused(ctx, challenge.user.id, ChallengeSpent)
        raise ChallengeSpent


async def complete(
    ctx: Context, challenge: Challenge, user: UserRow, *, method: str, trust_device: bool
) -> OpenedSession:
    """Consume a challenge after a valid code, and open the session of its user.

    Raises InvalidTwoFactorCookie if a concurrent request has completed the challenge, if the user must now sign in
    through another connection, or if the sign-in through a connection has become invalid.
    """
    used = await _use_up(ctx, challenge)
    if used is None:  # defence: V46 use-challenge
        raise InvalidTwoFactorCookie
    try:
        user, origin = await provisioning.resume(ctx, user, used.payload, used.created_at)
        # defence: SSO11 challenge
        await enforcement.check(ctx, user, None if origin is None else origin.connection_id)
    except (SignInEnded, SsoRequired):
        raise InvalidTwoFactorCookie from None
    await lockout.reset_failures(ctx, user.id)  # defence: V44 reset-count
    await limits.record_success(ctx, user.id)
    opened = await sessions.create(
        ctx,
        user,
        remembered=challenge.remembered,
        method=method,
        amr=None if origin is None else _amr(origin, method),
        origin=origin,
    )
    events.two_factor_verified(ctx, user.id, method)
    session_events.sign_in_succeeded(ctx, user.id, opened.session.id, method)
    return replace(opened, device=trusted_devices.trust(ctx, user.id, method)) if trust_device else opened


def _amr(origin: SsoOrigin, method: str) -> str:
    """Return the authentication methods of a sign-in through a connection and its second factor here."""
    # The password here was not used.
    own = [each for each in amr_of(method).split() if each != "pwd"]
    return " ".join(dict.fromkeys((*origin.amr.split(), *own)))


async def _use_up(ctx: Context, challenge: Challenge) -> Any:
    """Delete a challenge; return its row with `payload` and `created_at`, or None if it has ended."""
    await otp.discard(ctx)
    gone = delete(OneTimeToken).where(*_live(ctx, challenge))
    columns = (col(OneTimeToken.payload), col(OneTimeToken.created_at))
    # defence: R19 use-challenge
    return (await ctx.db.execute(gone.returning(*columns))).first()


def _live(ctx: Context, challenge: Challenge) -> tuple[ColumnElement[bool], ...]:
    return (
        col(OneTimeToken.digest) == challenge.digest,
        col(OneTimeToken.purpose) == Purpose.CHALLENGE,
        col(OneTimeToken.expires_at) > ctx.now,
    )
