"""Check the permissions and the rank of callers.

The powers of a user or role are the permissions that the default role does not grant. A caller cannot act on a user, or
grant or revoke a role, that has powers the caller lacks.
"""

from collections.abc import Iterable
from typing import NoReturn

from domain.admin import events
from domain.admin.errors import (
    NotAllowedWhileImpersonating,
    TwoFactorRequired,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToSetNonExistentValue,
)
from domain.admin.policy import AdminPolicy
from domain.context import Caller, Context
from domain.errors import Field, Forbidden, NotFound, ValidationError
from domain.policy import Policy
from domain.sessions.errors import SessionNotFresh
from domain.users import roles
from domain.users.policy import RolePolicy
from models.user import UserRow


def require(ctx: Context, resource: str, action: str, error: type[Forbidden], *, fresh: bool = False) -> None:
    """Check that a role of the caller grants an action on a resource and, with `fresh`, that the session is fresh.

    Raises `error` if no role grants the action, TwoFactorRequired, SessionNotFresh. The refusal is recorded.
    """
    caller = ctx.signed_in
    needs_factor = ctx.policy[RolePolicy].require_two_factor
    # Checked at each use: the session may be older than the rule that administrators need a second factor.
    if needs_factor and not caller.user.two_factor_enabled:  # defence: ADM22 second-factor
        refuse(ctx, TwoFactorRequired)
    if not roles.grants(ctx.policy, caller.user.role, {resource: [action]}):  # defence: ADM19 permission
        refuse(ctx, error)
    # A session that was stolen long ago must not be enough for this.
    if fresh and not is_fresh(ctx):  # defence: ADM14 fresh
        refuse(ctx, SessionNotFresh)


def is_fresh(ctx: Context) -> bool:
    """Return whether the caller's session was created at most `admin.fresh_age` ago; 0 accepts any age."""
    age = ctx.policy[AdminPolicy].fresh_age
    return not age or ctx.now - ctx.signed_in.session.created_at <= age


def require_administrator(policy: Policy, caller: Caller) -> None:
    """Check that a caller has any permission of administration that the default role does not grant.

    Raises NotFound if the caller has none, NotAllowedWhileImpersonating, TwoFactorRequired.
    """
    if caller.impersonated_by is not None:  # defence: C10 impersonated
        raise NotAllowedWhileImpersonating
    if not roles.is_privileged(policy, caller.user.role):  # defence: C1 administrators-only
        raise NotFound
    if policy[RolePolicy].require_two_factor and not caller.user.two_factor_enabled:  # defence: ADM22 console
        raise TwoFactorRequired


def refuse(ctx: Context, error: type[Forbidden]) -> NoReturn:
    """Record a refusal and raise it."""
    events.refused(ctx, error)
    raise error


def check_rank(ctx: Context, target: UserRow, error: type[Forbidden]) -> None:
    """Check that the caller has every permission of `target` that the default role does not grant. Raises `error`."""
    # A support role with permission to ban must not be able to ban or take over an administrator.
    if not roles.outranks(ctx.policy, ctx.signed_in.user, target):  # defence: ADM4 rank
        refuse(ctx, error)


def check_roles(ctx: Context, names: Iterable[str]) -> None:
    """Check that the caller has every permission of these roles, which are to be granted or revoked.

    Permissions of the default role do not count.

    Raises YouAreNotAllowedToChangeUsersRole.
    """
    for name in names:
        # Only powers that one has oneself can be given, otherwise a role with `set-role` would be every role.
        if not roles.powers(ctx.policy, name) <= _own_powers(ctx):  # defence: ADM3 role-powers
            refuse(ctx, YouAreNotAllowedToChangeUsersRole)


def role_names(ctx: Context, role: str | Iterable[str], *, field: str = "role") -> list[str]:
    """Return the role names of a request as a list; a text is split at commas.

    `field` is the JSON name that a ValidationError gives; it is raised for an empty name and for too many roles. Raises
    YouAreNotAllowedToSetNonExistentValue for a role that is not configured.
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
