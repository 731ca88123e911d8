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
"""The only one of these permissions that the built-in role `admin` does not grant."""


def permissions_of(statements: Mapping[str, Iterable[str]]) -> frozenset[Permission]:
    """Return actions by resource as permissions."""
    return frozenset((resource, action) for resource, actions in statements.items() for action in actions)


def split(role: str) -> list[str]:
    """Return the names in the text of a user's roles."""
    return role.split(",")


def parse(roles: str | Iterable[str]) -> list[str]:
    """Return the role names of a request: split at commas, without blanks and duplicates."""
    texts = [roles] if isinstance(roles, str) else roles
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))


def grants(policy: Policy, role: str, statements: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one of the roles grants every requested action on every requested resource.

    Refuses an empty request, and an empty list of actions, as the official clients do.
    """
    if not statements or not all(statements.values()):
        return False
    needed = permissions_of(statements)
    configured = policy[RolePolicy].roles
    return any(needed <= configured.get(name, frozenset()) for name in split(role))  # defence: ADM2 granted


def permits(policy: Policy, user: UserRow, resource: str, action: str) -> bool:
    """Return whether a user has a permission through a role, and a second factor if one is required."""
    proven = user.two_factor_enabled or not policy[RolePolicy].require_two_factor
    return proven and grants(policy, user.role, {resource: [action]})


def outranks(policy: Policy, user: UserRow, other: UserRow) -> bool:
    """Return whether a user has every power of another, and so may act on them."""
    return powers(policy, *split(other.role)) <= powers(policy, *split(user.role))


def powers(policy: Policy, *names: str) -> Set[Permission]:
    """Return the permissions of these roles beyond those of the default role.

    Permissions of the default role do not count, or support staff could not act on ordinary users.
    """
    configured = policy[RolePolicy]
    granted = frozenset().union(*(configured.roles.get(name, frozenset()) for name in names))
    return granted - configured.roles[configured.default_role]


def is_privileged(policy: Policy, role: str) -> bool:
    """Return whether the roles have a power over a resource of the service."""
    return any(resource in STATEMENTS for resource, _ in powers(policy, *split(role)))
