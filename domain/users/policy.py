"""Policy for users, from the operator's settings."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

Permission = tuple[str, str]
"""A resource and an action, such as `("user", "ban")`."""


@dataclass(frozen=True, slots=True)
class UsernamePolicy:
    """Whether users have usernames."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class RolePolicy:
    """The roles of users and their permissions, as configured."""

    default_role: str
    """The role of users who are created without one."""
    roles: Mapping[str, Set[Permission]]
    """The permissions that each role grants."""
    require_two_factor: bool
    """Whether permissions count only for callers with a second factor."""
