"""The ways a user may sign in. So far: the credential account, which holds the password."""

from sqlalchemy import ColumnElement, update
from sqlmodel import col, select

from domain import secrets
from domain.context import Context
from models import CREDENTIAL, Account


async def password_of(ctx: Context, user_id: str) -> str | None:
    """Give the user's password hash as this transaction sees it, or None."""
    hashes = select(Account.password).where(Account.user_id == user_id, Account.provider_id == CREDENTIAL)
    return (await ctx.db.execute(hashes)).scalar_one_or_none()


def add_credential(ctx: Context, user_id: str, hashed: str) -> None:
    """Give a user who has none a credential account."""
    ctx.db.add(
        Account(
            id=secrets.token(),
            user_id=user_id,
            provider_id=CREDENTIAL,
            account_id=user_id,
            password=hashed,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )


async def set_password(ctx: Context, user_id: str, hashed: str) -> None:
    """Replace the user's password hash, making the credential account if there is none."""
    if not await _update_password(ctx, user_id, hashed):
        add_credential(ctx, user_id, hashed)


async def replace_hash(ctx: Context, user_id: str, old: str, new: str) -> None:
    """Put a hash of current policy in the place of an older one of the same password, if it is still there."""
    await _update_password(ctx, user_id, new, col(Account.password) == old)


async def _update_password(ctx: Context, user_id: str, hashed: str, *conditions: ColumnElement[bool]) -> bool:
    statement = (
        update(Account)
        .where(col(Account.user_id) == user_id, col(Account.provider_id) == CREDENTIAL, *conditions)
        .values(password=hashed, updated_at=ctx.now)
        .returning(col(Account.id))
    )
    return (await ctx.db.execute(statement)).first() is not None
