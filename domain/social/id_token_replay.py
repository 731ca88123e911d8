"""How often an ID token signs in: never if the service received it itself, once if it has a nonce.

A used token is marked in the transaction that uses it, so that a failed request uses nothing up.
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
    """Mark the ID token of a proof as used, if it has one that may be used once. Raises InvalidToken if it was
    used before."""
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
    """Prevent a verified ID token from ever signing in; one that is spent already stays so."""
    if not await _is_spent(ctx, token):
        await _mark(ctx, token)


async def _mark(ctx: Context, token: str) -> None:
    """Mark a token as spent without checking first: a concurrent use collides with the mark, and the job is run
    again."""
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
    """Return whether the token is marked. An expired mark counts too: the token itself is too old by then."""
    mark = select(col(OneTimeToken.digest)).where(
        col(OneTimeToken.digest) == _digest(token), col(OneTimeToken.purpose) == Purpose.SPENT
    )
    return bool(await ctx.db.execute(mark))


def _digest(token: str) -> bytes:
    """Return the digest of the signed part: with ECDSA anyone can make another valid signature of a token."""
    return tokens.digest(token.rpartition(".")[0])  # defence: V18 spent-digest
