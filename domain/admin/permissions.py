"""What callers may do to whom: permissions of their roles, and rank.

Nobody acts on a user, or gives or takes a role, with powers that they lack themselves.
"""

from collections.abc import Iterable
from typing import NoReturn

from sqlalchemy import func, or_, select
from sqlmodel import col

from domain.admin import events
from domain.admin.errors import (
    LastAdmin,
    SessionNotFresh,
    TwoFactorRequired,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToSetNonExistentValue,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.errors import Forbidden, ValidationError
from domain.users import roles
from domain.users.policy import RolePolicy
from models import User
from models.lease import Lease
from models.queries import UserRow
from models.statements import upsert

ADMINS = "admins"
"""The lease whose row is locked before somebody loses the permission to set roles."""

MOST_TEXTS = 1000
"""How many distinct texts of roles are told apart; with more of them, searches by role read all users."""

_SET_ROLE = {"user": ["set-role"]}

_first = select(func.min(col(User.role)).label("role")).cte("roles", recursive=True)
_next = select(func.min(col(User.role))).where(col(User.role) > _first.c.role).scalar_subquery()
_texts = _first.union_all(select(_next).where(_first.c.role.is_not(None)))
ROLE_TEXTS = select(_texts.c.role).where(_texts.c.role.is_not(None)).limit(MOST_TEXTS + 1)
"""The distinct texts of roles: the index on the role is skipped through."""


def require(ctx: Context, resource: str, action: str, error: type[Forbidden], *, fresh: bool = False) -> None:
    """Check that the caller has a permission, and a fresh session where it is asked for.

    Raises TwoFactorRequired, SessionNotFresh, and the error of the operation.
    """
    caller, policy = ctx.signed_in, ctx.policy[AdminPolicy]
    if policy.require_two_factor and not caller.user.two_factor_enabled:  # defence: ADM22 second-factor
        refuse(ctx, TwoFactorRequired)
    if not roles.grants(ctx.policy, caller.user.role, {resource: [action]}):  # defence: ADM19 permission
        refuse(ctx, error)
    age = policy.fresh_age
    if fresh and age and ctx.now - caller.session.created_at > age:  # defence: ADM14 fresh
        refuse(ctx, SessionNotFresh)


def refuse(ctx: Context, error: type[Forbidden]) -> NoReturn:
    """Record a refusal and raise it."""
    events.refused(ctx, error)
    raise error


def check_rank(ctx: Context, target: UserRow, error: type[Forbidden]) -> None:
    """Check that the caller has every power of the target. Raises the error of the operation."""
    theirs = roles.powers(ctx.policy, *roles.split(target.role))
    if not theirs <= _own_powers(ctx):  # defence: ADM4 rank
        refuse(ctx, error)


def check_roles(ctx: Context, names: Iterable[str]) -> None:
    """Check that the caller has every power of roles to be given or taken.

    Raises YouAreNotAllowedToChangeUsersRole.
    """
    for name in names:
        if not roles.powers(ctx.policy, name) <= _own_powers(ctx):  # defence: ADM3 role-powers
            refuse(ctx, YouAreNotAllowedToChangeUsersRole)


def role_names(ctx: Context, wanted: str | Iterable[str]) -> list[str]:
    """Return the role names of a request. Raises ValidationError, YouAreNotAllowedToSetNonExistentValue."""
    names = roles.parse(wanted)
    if not 1 <= len(names) <= roles.MOST_ROLES or not all(names):
        raise ValidationError(f"[body.role] must be 1 to {roles.MOST_ROLES} role names")
    if not all(name in ctx.policy[RolePolicy].roles for name in names):  # defence: ADM3 known-roles
        raise YouAreNotAllowedToSetNonExistentValue
    return names


def may_set_roles(ctx: Context, role: str) -> bool:
    """Return whether users with these roles may set roles."""
    return roles.grants(ctx.policy, role, _SET_ROLE)


async def lock_admins(ctx: Context) -> None:
    """Wait until nobody else changes who may set roles, and make others wait until the transaction ends."""
    statement = upsert(ctx.db.dialect, Lease).values(name=ADMINS, holder=ADMINS, until=ctx.now)
    await ctx.db.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"until": statement.excluded.until})
    )


async def require_other_admin(ctx: Context, user: UserRow) -> None:
    """Check that somebody other than this user, who is not banned, may set roles. Raises LastAdmin."""
    if not await is_other_admin(ctx, user):  # defence: ADM13 last-admin
        raise LastAdmin


async def is_other_admin(ctx: Context, user: UserRow) -> bool:
    """Return whether somebody other than this user, who is not banned, may set roles."""
    holding = [text for text in await role_texts(ctx) if may_set_roles(ctx, text)]
    other = (
        col(User.role).in_(holding),
        col(User.id) != user.id,
        or_(~col(User.banned), col(User.ban_expires) <= ctx.now),
    )
    return bool(await ctx.db.execute(select(col(User.id)).where(*other).limit(1)))


async def role_texts(ctx: Context) -> list[str]:
    """Return the distinct texts of roles, at most `MOST_TEXTS` and one."""
    return (await ctx.db.execute(ROLE_TEXTS)).scalars()


def _own_powers(ctx: Context) -> set[tuple[str, str]]:
    return set(roles.powers(ctx.policy, *roles.split(ctx.signed_in.user.role)))
