"""Membership of users who sign in through a connection, and the roles that their groups give."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from domain.context import Context, StaleRead
from domain.organizations import access, members, roles
from domain.organizations.members import LockedMember
from domain.organizations.policy import OrganizationPolicy
from domain.policy import Policy
from domain.users.roles import split
from models.sso_connection import ConnectionRow
from models.user import UserRow


async def provision(ctx: Context, row: ConnectionRow, user: UserRow, groups: Sequence[str]) -> str | None:
    """Make a user, whose row is locked or new, a member of the connection's organization, with the roles that their
    groups give now; return the organization.

    Raises OrganizationMembershipLimitReached, YouHaveReachedTheMaximumNumberOfOrganizations.
    """
    organization_id = row.organization_id
    if organization_id is None or not ctx.policy[OrganizationPolicy].enabled:
        return None
    group_roles = json.loads(row.group_roles)
    names = rule_for(ctx.policy, row, groups).roles
    member = await access.find_member(ctx, organization_id, user.id)
    if member is None:
        await members.add_directly(ctx, organization_id, user.id, names)
    # Only owners make and remove owners.
    # defence: SSO10 owner-stays
    elif not member.is_owner and group_roles and roles.text_of(names) != member.role:
        await _change(ctx, organization_id, member.id, user, names)
    return organization_id


class RoleRule(NamedTuple):
    """Roles, and the group that gives them; None for the default role of the connection."""

    roles: Sequence[str]
    group: str | None


def rule_for(policy: Policy, row: ConnectionRow, groups: Sequence[str]) -> RoleRule:
    """Return the roles that a connection gives a user with these groups."""
    rule = _deciding(policy, json.loads(row.group_roles), groups)
    return rule or RoleRule(_allowed(policy, row.default_role) or [roles.MEMBER], None)


async def _change(
    ctx: Context, organization_id: str, member_id: str, user: UserRow, names: Sequence[str]
) -> None:
    organization = await access.lock(ctx, organization_id)
    member = await access.find_member_by_id(ctx, organization_id, member_id)
    if organization is None or member is None or member.is_owner:  # defence: SSO10 owner-locked
        raise StaleRead
    await members.set_role(ctx, LockedMember(organization, member, user), names)


def roles_of_groups(
    policy: Policy, group_roles: Mapping[str, object], groups: Sequence[str]
) -> Sequence[str]:
    """Return the roles of the group that gives the most permissions, without `owner`; none if no group gives any."""
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
