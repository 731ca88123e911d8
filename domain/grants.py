"""One-time things: issue, look at, use up by one atomic statement, take back (behaviour 9.1)."""

from datetime import timedelta

from sqlalchemy import delete
from sqlmodel import col

from domain import secrets
from domain.context import Context
from models import Grant, Purpose
from models.queries import GRANT_BY_DIGEST, GrantRow, UserRow


async def issue(
    ctx: Context, purpose: Purpose, user_id: str, *, expires_in: timedelta, email: str | None = None
) -> str:
    """Make a token for the user that works until `expires_in` from now, bound to `email` where one is given."""
    token = secrets.token()
    ctx.db.add(
        Grant(
            digest=secrets.digest(token),
            purpose=purpose,
            user_id=user_id,
            email=email,
            expires_at=ctx.now + expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    return token


async def find(ctx: Context, token: str) -> tuple[GrantRow, UserRow] | None:
    """Give the grant behind a token and its user, whatever its purpose and expiry; nothing is used up."""
    if not secrets.is_token(token):
        return None
    return await ctx.reads.one(GRANT_BY_DIGEST, secrets.digest(token))


async def find_live(ctx: Context, purpose: Purpose, token: str) -> tuple[GrantRow, UserRow] | None:
    """Give the grant behind a token if it serves this purpose now; nothing is used up."""
    found = await find(ctx, token)
    if found is None or found[0].purpose != purpose or found[0].expires_at <= ctx.now:
        return None
    return found


async def consume(ctx: Context, purpose: Purpose, user_id: str, token: str) -> bool:
    """Use up the user's token; of any number of simultaneous calls exactly one is told yes."""
    used = delete(Grant).where(
        col(Grant.digest) == secrets.digest(token),
        col(Grant.purpose) == purpose,
        col(Grant.user_id) == user_id,
        col(Grant.expires_at) > ctx.now,
    )
    result = await ctx.db.execute(used.returning(col(Grant.digest)))
    return result.first() is not None


async def revoke(ctx: Context, user_id: str, *purposes: Purpose) -> None:
    """Take back every token of the user that serves one of these purposes."""
    await ctx.db.execute(delete(Grant).where(col(Grant.user_id) == user_id, col(Grant.purpose).in_(purposes)))


async def revoke_everyones(ctx: Context) -> None:
    """Take back every token and code there is. What is spent stays so."""
    await ctx.db.execute(delete(Grant).where(col(Grant.purpose) != Purpose.SPENT))
