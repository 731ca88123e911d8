"""Replay protection of ID tokens, by stored marks of used tokens.

A token that the service has received from the provider itself cannot be used again by any caller. One that an
application sends with a nonce can be used once. The mark is written in the transaction that uses the token, so a failed
request does not use the token up.
"""

from datetime import timedelta

from sqlalchemy import select
from sqlmodel import col

from domain import errors, tokens
from domain.context import Context
from domain.identity_provider import DIRECT_AGE, LEEWAY, TokenUse, VerifiedIdentity
from domain.users import profile
from models import OneTimeToken, Purpose

_LIFE = DIRECT_AGE + 2 * timedelta(seconds=LEEWAY)  # defence: V18 spent-life
"""How long a mark is kept: a token that was accepted when it was set is too old when it expires, with any clock
skew."""


async def use(ctx: Context, proof: VerifiedIdentity) -> None:
    """Check that the ID token of an identity was not used up, and mark it as used unless it may be used again.

    Does nothing without an ID token. Raises InvalidToken.
    """
    token = proof.tokens.id_token
    if token is None:
        return
    if proof.use is TokenUse.OURS:
        await spend(ctx, token)  # defence: V18 spend-visit
        return
    if await _is_spent(ctx, token):
        raise errors.InvalidToken  # defence: V18 refuse-spent
    if proof.use is TokenUse.ONCE:
        await _mark(ctx, token)  # defence: V18 mark-spent


async def spend(ctx: Context, token: str) -> None:
    """Mark an ID token as used, so that it cannot be used to sign in; do nothing if it is marked already."""
    if not await _is_spent(ctx, token):
        await _mark(ctx, token)


async def _mark(ctx: Context, token: str) -> None:
    """Mark a token as used without checking first. If a concurrent request marked it, the insertion fails and the job
    runs again."""
    # defence: V18 insert-spent
    ctx.db.add(
        OneTimeToken(
            digest=_digest(token),
            purpose=Purpose.SPENT,
            expires_at=ctx.now + _LIFE,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    await profile.flush(ctx)


async def _is_spent(ctx: Context, token: str) -> bool:
    """Return whether the token is marked. Expired marks count too, because the token itself has expired by then."""
    mark = select(col(OneTimeToken.digest)).where(
        col(OneTimeToken.digest) == _digest(token), col(OneTimeToken.purpose) == Purpose.SPENT
    )
    return bool(await ctx.db.execute(mark))


def _digest(token: str) -> bytes:
    """Return the digest of the signed part: anyone can derive another valid ECDSA signature from a token."""
    return tokens.digest(token.rpartition(".")[0])  # defence: V18 spent-digest
