"""How often an ID token signs in: never when it is the service's own, once when it answers a nonce.

What is used up is marked in the transaction that uses it, so that what fails uses up nothing.
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
"""How long a mark stays: no token that was accepted at its beginning is young enough at its end, whose clock it be."""


async def use(ctx: Context, proof: VerifiedIdentity) -> None:
    """Use the ID token of a proof, if it has one, as often as it may be. Raises InvalidToken when that was before."""
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
    """Let a verified ID token sign nobody in from now on; one that is spent already stays so."""
    if not await _is_spent(ctx, token):
        await _mark(ctx, token)


async def _mark(ctx: Context, token: str) -> None:
    """Mark a token as spent, without a further look: who was faster meanwhile is met by the collision of the marks,
    after which the job is run once more."""
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
    """Whether there is a mark. Its time is not looked at: a token whose mark is over is too old itself."""
    mark = select(col(OneTimeToken.digest)).where(
        col(OneTimeToken.digest) == _digest(token), col(OneTimeToken.purpose) == Purpose.SPENT
    )
    return bool(await ctx.db.execute(mark))


def _digest(token: str) -> bytes:
    """Return the digest of what was signed: anybody can make another valid signature of one by ECDSA."""
    return tokens.digest(token.rpartition(".")[0])  # defence: V18 spent-digest
