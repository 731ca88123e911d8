"""Roles of members of an organization, and the permissions that they grant there."""

from collections.abc import Mapping, Sequence

from domain.organizations.errors import RoleNotFound
from domain.organizations.policy import OrganizationPolicy
from domain.policy import Policy
from domain.users.policy import Permission
from domain.users.roles import MOST_ROLES, parse, permissions_of, split

OWNER, ADMIN, MEMBER = "owner", "admin", "member"
"""The built-in roles."""

STATEMENTS: Mapping[str, Sequence[str]] = {
    "organization": ("update", "delete"),
    "member": ("create", "update", "delete"),
    "invitation": ("create", "cancel"),
    "team": ("create", "update", "delete"),
    "ac": ("create", "read", "update", "delete"),
    "apiKey": ("create", "read", "update", "delete"),
    "sso": ("manage",),
}
"""The built-in resources and their actions. `ac` has no effect; it exists because Better Auth's client knows it."""

BUILT_IN: Mapping[str, frozenset[Permission]] = {
    OWNER: permissions_of(STATEMENTS),
    ADMIN: permissions_of(
        {
            **{name: STATEMENTS[name] for name in ("member", "invitation", "team", "ac")},
            "organization": ("update",),
            "apiKey": ("read",),
        }
    ),
    MEMBER: permissions_of({"ac": ("read",)}),
}
"""The permissions of the built-in roles. `owner` also has all permissions in the setting `organizations.statements`."""


def names_of(policy: Policy, role: str | Sequence[str]) -> list[str]:
    """Return the role names in `role`: texts with one name each, or several separated by commas.

    Raises RoleNotFound if a name is unknown, or if there are none or more than `MOST_ROLES`.
    """
    names = parse(role)
    known = policy[OrganizationPolicy].roles
    are_known = 1 <= len(names) <= MOST_ROLES and all(name in known for name in names)
    if not are_known:  # defence: ORG6 known-roles
        raise RoleNotFound
    return names


def text_of(names: Sequence[str]) -> str:
    """Return role names as one text, as they are stored and sent: separated by commas."""
    return ",".join(names)


def is_owner(role: str) -> bool:
    """Return whether `owner` is among the roles in a stored text."""
    return OWNER in split(role)


def grants(policy: Policy, role: str, statements: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one of the roles in `role` grants every action in `statements` on its resource.

    False if `statements` or one of its lists of actions is empty, as in the official clients.
    """
    if not statements or not all(statements.values()):
        return False
    needed = permissions_of(statements)
    configured = policy[OrganizationPolicy].roles
    # defence: ORG31 removed-role
    return any(needed <= configured.get(name, frozenset()) for name in split(role))


def permits(policy: Policy, role: str, resource: str, action: str) -> bool:
    """Return whether one of the roles in `role` grants an action on a resource."""
    return grants(policy, role, {resource: [action]})


def outranks(policy: Policy, role: str, other: str) -> bool:
    """Return whether a member with the roles `role` may grant and remove the roles `other`.

    `role` must grant every permission that `other` grants and the role `member` does not. Only owners may make, change
    and remove owners.
    """
    if is_owner(other) and not is_owner(role):  # defence: ORG6 ORG7 owners-only
        return False
    return _powers(policy, other) <= _powers(policy, role)  # defence: ORG6 ORG7 powers


def _powers(policy: Policy, role: str) -> frozenset[Permission]:
    configured = policy[OrganizationPolicy].roles
    granted = frozenset[Permission]().union(*(configured.get(name, frozenset()) for name in split(role)))
    return granted - configured[MEMBER]
