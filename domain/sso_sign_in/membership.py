"""The roles in an organization that a connection grants by the groups of its users."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from domain.organizations import roles
from domain.organizations.policy import OrganizationPolicy
from domain.policy import Policy
from domain.users.roles import split
from models.sso_connection import ConnectionRow


class RoleRule(NamedTuple):
    """Roles, and the group that grants them; `group` is None for the default roles of the connection."""

    roles: Sequence[str]
    group: str | None


def rule_for(policy: Policy, row: ConnectionRow, groups: Sequence[str]) -> RoleRule:
    """Return the roles that a connection grants a user with these groups."""
    rule = _deciding(policy, json.loads(row.group_roles), groups)
    return rule or RoleRule(_allowed(policy, row.default_role) or [roles.MEMBER], None)


def roles_of_groups(
    policy: Policy, group_roles: Mapping[str, object], groups: Sequence[str]
) -> Sequence[str]:
    """Return the roles of the group that grants the most permissions, without `owner`; empty if none grants any."""
    rule = _deciding(policy, group_roles, groups)
    return () if rule is None else rule.roles


def _deciding(policy: Policy, group_roles: Mapping[str, object], groups: Sequence[str]) -> RoleRule | None:
    known = policy[OrganizationPolicy].roles
    given = [
        RoleRule(_allowed(policy, group_roles[group]), group)
        for group in dict.fromkeys(groups)
        if group in group_roles
    ]

    def permissions(rule: RoleRule) -> int:
        return len(frozenset().union(*(known[name] for name in rule.roles)))

    return max((rule for rule in given if rule.roles), key=permissions, default=None)


def _allowed(policy: Policy, text: object) -> Sequence[str]:
    """Return the roles in a stored text that exist, without `owner`."""
    names = split(text) if isinstance(text, str) else []
    known = policy[OrganizationPolicy].roles
    # defence: SSO10 owner-never
    return [name for name in dict.fromkeys(map(str.strip, names)) if name in known and name != roles.OWNER]
