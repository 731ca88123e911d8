"""Find a user by id, email address or username."""

from domain import errors
from domain.context import Context
from models.user import FIND_USER, FIND_USER_BY_EMAIL, USER_BY_ID, UserRow


async def find(ctx: Context, identifier: str) -> UserRow:
    """Return the user with this id, address or username. Raises NotFound."""
    user = await look_up(ctx, identifier)
    if user is None:
        raise errors.NotFound("There is no such user")
    return user


async def look_up(ctx: Context, identifier: str) -> UserRow | None:
    """Return the user with this id, address or username, or None."""
    rows = await ctx.db.execute(FIND_USER, id=identifier, lowered=identifier.lower())
    user: UserRow | None = rows.first()
    return user


async def by_email(ctx: Context, email: str) -> UserRow | None:
    """Return the user with this email address in lower case, or None."""
    user: UserRow | None = (await ctx.db.execute(FIND_USER_BY_EMAIL, email=email)).first()
    return user


async def by_id(ctx: Context, user_id: str) -> UserRow | None:
    """Return the user with this id, or None, with one query outside the transaction."""
    return await ctx.reads.one(USER_BY_ID, user_id)
