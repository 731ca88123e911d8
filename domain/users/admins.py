"""Protect the last administrator: the last unbanned user who may set roles cannot be demoted, banned or deleted.

Concurrent removals of administrators are serialized by a lock on the row `admins` of the table `lease`, which is taken
before any lock on a user's row.
"""

from sqlalchemy import func, or_, select
from sqlmodel import col

from domain.context import Context, StaleRead
from domain.policy import Policy
from domain.users import lookup, roles
from domain.users.errors import LastAdmin
from models import User
from models.lease import Lease
from models.statements import upsert
from models.user import UserRow

_ADMINS = "admins"
"""The lease whose row is locked before a user may lose the permission to set roles."""

_SET_ROLE = {"user": ["set-role"]}

MOST_TEXTS = 1000
"""The most distinct values of the column `role` that are read; beyond that, searches by role read all users."""

_first = select(func.min(col(User.role)).label("role")).cte("roles", recursive=True)
_next = select(func.min(col(User.role))).where(col(User.role) > _first.c.role).scalar_subquery()
_texts = _first.union_all(select(_next).where(_first.c.role.is_not(None)))
ROLE_TEXTS = select(_texts.c.role).where(_texts.c.role.is_not(None)).limit(MOST_TEXTS + 1)
"""Selects the distinct values of `role`. Each step jumps to the next value in the index, so few rows are read."""


def may_set_roles(policy: Policy, role: str) -> bool:
    """Return whether users with these roles, separated by commas, may set roles of others."""
    return roles.grants(policy, role, _SET_ROLE)


async def lock(ctx: Context, user_id: str) -> bool:
    """Take the lock for changes of administrators if this user is one; return whether the user is an administrator.

    Call it before the user's row is locked, and `refuse_last` afterwards.
    """
    user = await lookup.by_id(ctx, user_id)
    if user is None or not may_set_roles(ctx.policy, user.role):
        return False
    statement = upsert(ctx.db.dialect, Lease).values(name=_ADMINS, holder=_ADMINS, until=ctx.now)
    # Locking a common row first serializes such changes: two administrators who demote each other must not both
    # succeed.
    await ctx.db.execute(  # defence: ADM13 lock
        statement.on_conflict_do_update(index_elements=["name"], set_={"until": statement.excluded.until})
    )
    return True


async def refuse_last(ctx: Context, user: UserRow, *, locked: bool = True) -> None:
    """Check that this user, whose row is locked, is not the last administrator; `locked` is the result of `lock`.

    Raises LastAdmin, and StaleRead if the user has become an administrator since `lock`.
    """
    if not locked and may_set_roles(ctx.policy, user.role):
        raise StaleRead
    if await is_last(ctx, user):  # defence: ADM13 last-admin
        raise LastAdmin


async def exists(ctx: Context) -> bool:
    """Return whether any user has a role with a permission over a resource of the service."""
    holding = [text for text in await role_texts(ctx) if roles.is_privileged(ctx.policy, text)]
    return bool(await ctx.db.execute(select(col(User.id)).where(col(User.role).in_(holding)).limit(1)))


async def is_last(ctx: Context, user: UserRow) -> bool:
    """Return whether this user is the only user who may set roles and is not banned."""
    if not may_set_roles(ctx.policy, user.role):
        return False
    holding = [text for text in await role_texts(ctx) if may_set_roles(ctx.policy, text)]
    other = (
        col(User.role).in_(holding),
        col(User.id) != user.id,
        or_(~col(User.banned), col(User.ban_expires) <= ctx.now),
    )
    return not await ctx.db.execute(select(col(User.id)).where(*other).limit(1))


async def role_texts(ctx: Context) -> list[str]:
    """Return the distinct values of the column `role`, at most `MOST_TEXTS` + 1."""
    return (await ctx.db.execute(ROLE_TEXTS)).scalars()
