"""Roles of users and the permissions that they grant."""

from collections.abc import Iterable, Mapping, Sequence, Set

from domain.policy import Policy
from domain.users.policy import Permission, RolePolicy
from models.user import UserRow

MOST_ROLES = 16
"""How many roles a user may have."""

STATEMENTS: Mapping[str, Sequence[str]] = {
    "user": (
        "create",
        "list",
        "get",
        "update",
        "set-role",
        "ban",
        "impersonate",
        "delete",
        "set-password",
        "set-email",
        "set-phone",
        "reset-two-factor",
        "impersonate-admins",
    ),
    "session": ("list", "revoke", "delete"),
    "apiKey": ("manage",),
    "organization": ("manage",),
    "service": ("manage",),
}
"""The actions of the service's own resources."""

NOT_OF_ADMIN: Permission = ("user", "impersonate-admins")
"""The only permission in `STATEMENTS` that the built-in role `admin` does not grant."""


def permissions_of(statements: Mapping[str, Iterable[str]]) -> frozenset[Permission]:
    """Return the permissions for a mapping of resources to actions."""
    return frozenset((resource, action) for resource, actions in statements.items() for action in actions)


def split(role: str) -> list[str]:
    """Return the role names in the column `role` of a user, which are separated by commas."""
    return role.split(",")


def parse(roles: str | Iterable[str]) -> list[str]:
    """Return the role names in a request: texts are split at commas, and white space and duplicates are removed."""
    texts = [roles] if isinstance(roles, str) else roles
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))


def grants(policy: Policy, role: str, statements: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one of the roles, separated by commas, grants all requested actions by resource.

    False for an empty mapping or an empty list of actions.
    """
    if not statements or not all(statements.values()):
        return False
    needed = permissions_of(statements)
    configured = policy[RolePolicy].roles
    return any(needed <= configured.get(name, frozenset()) for name in split(role))  # defence: ADM2 granted


def permits(policy: Policy, user: UserRow, resource: str, action: str) -> bool:
    """Return whether a role of a user grants a permission; False without a second factor that the settings require."""
    proven = user.two_factor_enabled or not policy[RolePolicy].require_two_factor
    return proven and grants(policy, user.role, {resource: [action]})


def outranks(policy: Policy, user: UserRow, other: UserRow) -> bool:
    """Return whether a user has all permissions (`powers`) of another user, and so may act on them."""
    return powers(policy, *split(other.role)) <= powers(policy, *split(user.role))


def powers(policy: Policy, *names: str) -> Set[Permission]:
    """Return the permissions of these roles beyond those of the default role.

    Permissions of the default role are left out, because support staff without them could otherwise not act on ordinary
    users.
    """
    configured = policy[RolePolicy]
    granted = frozenset().union(*(configured.roles.get(name, frozenset()) for name in names))
    return granted - configured.roles[configured.default_role]


def is_privileged(policy: Policy, role: str) -> bool:
    """Return whether the roles grant a permission over a resource of the service beyond the default role."""
    return any(resource in STATEMENTS for resource, _ in powers(policy, *split(role)))
