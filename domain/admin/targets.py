"""The users that administrators act on: found, locked, compared by rank, and never the last administrator."""

from collections.abc import Sequence

from sqlalchemy import func, or_, select
from sqlmodel import col

from domain.admin import permissions
from domain.admin.errors import LastAdmin
from domain.context import Context, StaleRead
from domain.errors import Forbidden
from domain.users import locking, lookup, roles
from domain.users.errors import UserNotFound
from models import User
from models.lease import Lease
from models.queries import UserRow
from models.statements import upsert

_ADMINS = "admins"
"""The lease whose row is locked before somebody may lose the permission to set roles."""

MOST_TEXTS = 1000
"""How many distinct texts of roles are told apart; with more of them, searches by role read all users."""

_first = select(func.min(col(User.role)).label("role")).cte("roles", recursive=True)
_next = select(func.min(col(User.role))).where(col(User.role) > _first.c.role).scalar_subquery()
_texts = _first.union_all(select(_next).where(_first.c.role.is_not(None)))
ROLE_TEXTS = select(_texts.c.role).where(_texts.c.role.is_not(None)).limit(MOST_TEXTS + 1)
"""The distinct texts of roles: the index on the role is skipped through."""


async def existing(ctx: Context, user_id: str) -> UserRow:
    """Return a user by id, not locked. Raises UserNotFound."""
    user = await lookup.by_id(ctx, user_id)
    if user is None:
        raise UserNotFound
    return user


async def locked(
    ctx: Context, user_id: str, error: type[Forbidden], *, may_lose_roles: bool = False
) -> UserRow:
    """Return a user that the caller may act on, locked until the transaction ends.

    `may_lose_roles` says that the user may lose the permission to set roles; administrators wait for each other then.
    Raises UserNotFound, and `error` if the user has powers that the caller lacks.
    """
    waits = may_lose_roles and permissions.may_set_roles(ctx, (await existing(ctx, user_id)).role)
    if waits:
        await _lock_admins(ctx)  # defence: ADM13 lock
    user = await locking.lock(ctx, user_id)
    if user is None:
        raise UserNotFound
    if may_lose_roles and not waits and permissions.may_set_roles(ctx, user.role):
        raise StaleRead  # The user became an administrator a moment ago.
    permissions.check_rank(ctx, user, error)
    return user


async def lock_leaving(ctx: Context, user: UserRow) -> UserRow | None:
    """Return the row of a user who is to be deleted, locked; None if they do not exist any more.

    Administrators wait for each other. Raises LastAdmin.
    """
    waits = permissions.may_set_roles(ctx, user.role)
    if waits:
        await _lock_admins(ctx)
    leaving = await locking.lock(ctx, user.id)  # defence: N2 lock
    if leaving is None:
        return None
    if not waits and permissions.may_set_roles(ctx, leaving.role):
        raise StaleRead  # The user became an administrator a moment ago.
    await refuse_last_admin(ctx, leaving)  # defence: N1 last-admin
    return leaving


def is_own(ctx: Context, user_id: str) -> bool:
    """Return whether the caller is the user to act on."""
    return user_id == ctx.signed_in.user.id


def refuse_own(ctx: Context, user_id: str, error: type[Forbidden]) -> None:
    """Refuse an operation on the caller's own account, which has proofs of its own. Raises the error."""
    if is_own(ctx, user_id):  # defence: ADM14 own-account
        permissions.refuse(ctx, error)


async def refuse_last_admin(ctx: Context, user: UserRow) -> None:
    """Check that somebody can still set roles without this user. Raises LastAdmin."""
    if await is_last_admin(ctx, user):  # defence: ADM13 last-admin
        raise LastAdmin


async def check_new_roles(ctx: Context, user: UserRow, names: Sequence[str]) -> None:
    """Check that the caller may give and take the roles, and that somebody is left who may set roles."""
    permissions.check_roles(ctx, set(names) ^ set(roles.split(user.role)))
    if not permissions.may_set_roles(ctx, ",".join(names)):
        await refuse_last_admin(ctx, user)


async def is_last_admin(ctx: Context, user: UserRow) -> bool:
    """Return whether this user may set roles, and nobody else who is not banned."""
    if not permissions.may_set_roles(ctx, user.role):
        return False
    holding = [text for text in await role_texts(ctx) if permissions.may_set_roles(ctx, text)]
    other = (
        col(User.role).in_(holding),
        col(User.id) != user.id,
        or_(~col(User.banned), col(User.ban_expires) <= ctx.now),
    )
    return not await ctx.db.execute(select(col(User.id)).where(*other).limit(1))


async def role_texts(ctx: Context) -> list[str]:
    """Return the distinct texts of roles, at most `MOST_TEXTS` and one."""
    return (await ctx.db.execute(ROLE_TEXTS)).scalars()


async def _lock_admins(ctx: Context) -> None:
    statement = upsert(ctx.db.dialect, Lease).values(name=_ADMINS, holder=_ADMINS, until=ctx.now)
    await ctx.db.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"until": statement.excluded.until})
    )
