"""The members of groups, which are stored as members of teams, and the roles that groups grant."""

import json
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import select
from sqlmodel import col

from domain.context import Context
from domain.organizations import access as organizations
from domain.organizations import members, team_members
from domain.organizations.errors import TeamMemberLimitReached
from domain.scim import access, resources
from domain.scim.errors import InvalidValue, LimitReached
from domain.scim.resources import GROUP, USER
from domain.sso_sign_in.membership import roles_of_groups
from domain.users import locking
from domain.users.roles import split
from models.scim_link import ScimLink
from models.scim_token import Directory
from models.statements import is_
from models.team import TeamRow

_LINKED = select(col(ScimLink.user_id)).where(is_(ScimLink.connection_id, "connection_id"))


async def of_group(ctx: Context, directory: Directory, team_id: str) -> Sequence[str]:
    """Return the ids of the members of a group, which is stored as the team `team_id`."""
    found = await resources.related(ctx, directory, GROUP, [team_id])
    return [user_id for user_id, _ in found.get(team_id, ())]


async def check(ctx: Context, directory: Directory, user_ids: Collection[str]) -> None:
    """Check that all of these users are in the directory, so that they may join a group. Raises InvalidValue."""
    named = sorted(set(user_ids))
    if not named:
        return
    statement = _LINKED.where(col(ScimLink.user_id).in_(named))
    known = (await ctx.db.execute(statement, connection_id=directory.connection.id)).scalars()
    if sorted(known) != named:  # defence: SSO12 own-members
        raise InvalidValue("members: there is no such user")


async def lock(ctx: Context, user_ids: Collection[str]) -> None:
    """Lock users in the order of their ids. Call it before the organization is locked."""
    for user_id in sorted(set(user_ids)):
        await locking.lock(ctx, user_id)


async def replace(
    ctx: Context, directory: Directory, team: TeamRow, user_ids: Collection[str]
) -> Sequence[str]:
    """Replace the members of a group; return the ids of the users who joined or left.

    All users and the organization must be locked. Users who are disabled, and so not members of the organization, do
    not join. Raises LimitReached.
    """
    present, expected = set(await of_group(ctx, directory, team.id)), set(user_ids)
    changed = sorted(present - expected)
    for user_id in changed:
        await team_members.leave(ctx, team, user_id)
    for user_id in sorted(expected - present):
        member = await organizations.find_member(ctx, team.organization_id, user_id)
        # A disabled user is no member, and joins with the next change of the group after they are enabled.
        if member is None:
            continue
        try:
            await team_members.join(ctx, team, member)
        except TeamMemberLimitReached as full:
            raise LimitReached(full.message) from full
        changed.append(user_id)
    return changed


async def set_roles(
    ctx: Context, directory: Directory, user_ids: Collection[str], names: Collection[str]
) -> None:
    """Set the roles of locked users to the roles that their groups grant, or else to the default roles.

    Does nothing unless the connection has roles for one of the groups `names`. Owners keep their roles.
    """
    by_group: Mapping[str, object] = json.loads(directory.connection.group_roles)
    organization_id = directory.connection.organization_id
    if organization_id is None or by_group.keys().isdisjoint(names):
        return
    groups = await resources.related(ctx, directory, USER, sorted(set(user_ids)))
    for user_id in sorted(set(user_ids)):
        member = await organizations.find_member(ctx, organization_id, user_id)
        target = None if member is None else await members.locked(ctx, organization_id, member.id)
        if target is None or target.member.is_owner:  # defence: SSO12 owners-stay
            continue
        granted = roles_of_groups(ctx.policy, by_group, [name for _, name in groups.get(user_id, ())])
        await members.set_role(ctx, target, granted or split(access.default_role(directory)))
