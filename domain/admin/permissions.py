"""Check the permissions and the rank of callers.

A caller cannot act on a user, or grant or revoke a role, that has powers the caller lacks.
"""

from collections.abc import Iterable
from typing import NoReturn

from domain.admin import events
from domain.admin.errors import (
    TwoFactorRequired,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToSetNonExistentValue,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.errors import Field, Forbidden, ValidationError
from domain.sessions.errors import SessionNotFresh
from domain.users import roles
from domain.users.policy import RolePolicy
from models.user import UserRow


def require(ctx: Context, resource: str, action: str, error: type[Forbidden], *, fresh: bool = False) -> None:
    """Check that the caller has a permission, and a fresh session if one is required.

    Raises TwoFactorRequired, SessionNotFresh, and the error of the operation.
    """
    caller, policy = ctx.signed_in, ctx.policy[AdminPolicy]
    needs_factor = ctx.policy[RolePolicy].require_two_factor
    # Checked at each use: the session may be older than the rule that administrators need a second factor.
    if needs_factor and not caller.user.two_factor_enabled:  # defence: ADM22 second-factor
        refuse(ctx, TwoFactorRequired)
    if not roles.grants(ctx.policy, caller.user.role, {resource: [action]}):  # defence: ADM19 permission
        refuse(ctx, error)
    age = policy.fresh_age
    # A session that was stolen long ago must not be enough for this.
    if fresh and age and ctx.now - caller.session.created_at > age:  # defence: ADM14 fresh
        refuse(ctx, SessionNotFresh)


def refuse(ctx: Context, error: type[Forbidden]) -> NoReturn:
    """Record a refusal and raise it."""
    events.refused(ctx, error)
    raise error


def check_rank(ctx: Context, target: UserRow, error: type[Forbidden]) -> None:
    """Check that the caller has every power of the target. Raises the error of the operation."""
    # A support role with permission to ban must not be able to ban or take over an administrator.
    if not roles.outranks(ctx.policy, ctx.signed_in.user, target):  # defence: ADM4 rank
        refuse(ctx, error)


def check_roles(ctx: Context, names: Iterable[str]) -> None:
    """Check that the caller has every power of the roles to be granted or revoked.

    Raises YouAreNotAllowedToChangeUsersRole.
    """
    for name in names:
        # Only powers that one has oneself can be given, otherwise a role with `set-role` would be every role.
        if not roles.powers(ctx.policy, name) <= _own_powers(ctx):  # defence: ADM3 role-powers
            refuse(ctx, YouAreNotAllowedToChangeUsersRole)


def role_names(ctx: Context, role: str | Iterable[str], *, field: str = "role") -> list[str]:
    """Return the role names in a request; `field` is their place in the body.

    Raises ValidationError, YouAreNotAllowedToSetNonExistentValue.
    """
    names = roles.parse(role)
    if not 1 <= len(names) <= roles.MOST_ROLES or not all(names):
        problem = f"must be 1 to {roles.MOST_ROLES} role names"
        raise ValidationError(f"[body.{field}] {problem}", Field("body", field, problem))
    if not all(name in ctx.policy[RolePolicy].roles for name in names):  # defence: ADM3 known-roles
        raise YouAreNotAllowedToSetNonExistentValue
    return names


def _own_powers(ctx: Context) -> set[tuple[str, str]]:
    return set(roles.powers(ctx.policy, *roles.split(ctx.signed_in.user.role)))
