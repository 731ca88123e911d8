"""Find a user by id, email address or username."""

from sqlalchemy import or_, select
from sqlmodel import col

from domain import errors
from domain.context import Context
from models import User


async def find(ctx: Context, identifier: str) -> User:
    """Give the user with this id, address or username. Raises NotFound."""
    user = await look_up(ctx, identifier)
    if user is None:
        raise errors.NotFound("There is no such user")
    return user


async def look_up(ctx: Context, identifier: str) -> User | None:
    """Give the user with this id, address or username, or None."""
    wanted = identifier.lower()
    matches = or_(col(User.id) == identifier, col(User.email) == wanted, col(User.username) == wanted)
    return (await ctx.db.execute(select(User).where(matches))).scalar_one_or_none()


async def by_email(ctx: Context, email: str) -> User | None:
    """Give the user with this lower-cased address, or None."""
    return (await ctx.db.execute(select(User).where(col(User.email) == email))).scalar_one_or_none()
