"""Members of a team."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.organizations import access, active, events, roles
from domain.organizations.errors import (
    TeamMemberLimitReached,
    UserIsNotAMemberOfTheOrganization,
    UserIsNotAMemberOfTheTeam,
    UserIsNotAMemberOfTheTeamForbidden,
    YouAreNotAllowedToCreateANewTeamMember,
    YouAreNotAllowedToRemoveATeamMember,
    YouDoNotHaveAnActiveTeam,
)
from domain.organizations.policy import TeamPolicy
from domain.users import locking
from models.member import MemberRow
from models.statements import insert, table_of
from models.team import (
    COUNT_TEAM_MEMBERS,
    FIND_TEAM_MEMBER,
    MEMBERS_OF_TEAM,
    TeamMember,
    TeamMemberRow,
    TeamRow,
)

_DELETE_MEMBER = (
    delete(table_of(TeamMember))
    .where(col(TeamMember.team_id) == bindparam("team_id"), col(TeamMember.user_id) == bindparam("user_id"))
    .returning(col(TeamMember.id))
)


async def list_members(
    ctx: Context, team_id: str | None, organization_id: str | None
) -> Sequence[TeamMemberRow]:
    """Return the members of a team, the oldest first. By default the active team and organization are meant.

    Raises YouDoNotHaveAnActiveTeam, NoActiveOrganization, TeamNotFound, UserIsNotAMemberOfTheTeamForbidden.
    """
    team_id = team_id or ctx.signed_in.session.active_team_id
    if team_id is None:
        raise YouDoNotHaveAnActiveTeam
    chosen = await access.organization_of(ctx, organization_id)
    own = await access.require_member(ctx, chosen, UserIsNotAMemberOfTheTeamForbidden)
    team = await access.find_team(ctx, chosen, team_id)
    is_inside = await membership(ctx, team.id, own.user_id) is not None
    if not is_inside and not roles.permits(ctx.policy, own.role, "team", "update"):
        raise UserIsNotAMemberOfTheTeamForbidden
    rows: Sequence[TeamMemberRow] = await ctx.db.execute(
        MEMBERS_OF_TEAM.limit(access.MOST_IN_TEAM_LISTS), team_id=team.id
    )
    return rows


async def add_member(ctx: Context, team_id: str, user_id: str, organization_id: str | None) -> TeamMemberRow:
    """Add a member of an organization, by default of the active one, to a team; return the membership in the team.

    If the member is in the team already, the existing membership is returned.

    Raises NoActiveOrganization, YouAreNotAllowedToCreateANewTeamMember, TeamNotFound, TeamIsManagedByADirectory,
    UserIsNotAMemberOfTheOrganization, TeamMemberLimitReached.
    """
    own = await access.require_manager(
        ctx, organization_id, "member", "update", YouAreNotAllowedToCreateANewTeamMember
    )
    team = await access.find_own_team(ctx, own.organization_id, team_id)
    member = await access.find_member(ctx, own.organization_id, user_id)  # defence: ORG8 team-member
    if member is None:
        raise UserIsNotAMemberOfTheOrganization
    return await join(ctx, team, member)


async def join(ctx: Context, team: TeamRow, member: MemberRow) -> TeamMemberRow:
    """Add a member to a team without a check of permissions; return the membership in the team, new or existing.

    The caller has locked the organization. Raises TeamMemberLimitReached.
    """
    existing = await membership(ctx, team.id, member.user_id)
    if existing is not None:
        return existing
    await _check_room(ctx, team)
    row = TeamMemberRow(tokens.token(), team.id, member.id, member.user_id, ctx.now)
    await ctx.db.execute(insert(TeamMember), **row._asdict())
    events.team_member_added(ctx, team.organization_id, team.id, member.user_id)
    return row


async def requested(ctx: Context, organization_id: str, team_ids: Sequence[str]) -> Sequence[TeamRow]:
    """Return the teams with these ids, which members are to join; none if teams are disabled.

    Raises TeamNotFound, TeamIsManagedByADirectory; TeamMemberLimitReached if a team is full.
    """
    if not ctx.policy[TeamPolicy].enabled:
        return []
    found = [await access.find_own_team(ctx, organization_id, team_id) for team_id in dict.fromkeys(team_ids)]
    for team in found:
        await _check_room(ctx, team)
    return found


async def remove_member(ctx: Context, team_id: str, user_id: str, organization_id: str | None) -> None:
    """Remove a user from a team of an organization, by default of the active one.

    The team is no longer the active one in any session of the user.

    Raises NoActiveOrganization, YouAreNotAllowedToRemoveATeamMember, TeamNotFound, TeamIsManagedByADirectory,
    UserIsNotAMemberOfTheOrganization, UserIsNotAMemberOfTheTeam.
    """
    await locking.lock(ctx, user_id)
    own = await access.require_manager(
        ctx, organization_id, "member", "delete", YouAreNotAllowedToRemoveATeamMember
    )
    team = await access.find_own_team(ctx, own.organization_id, team_id)
    if await access.find_member(ctx, own.organization_id, user_id) is None:
        raise UserIsNotAMemberOfTheOrganization
    if not await leave(ctx, team, user_id):
        raise UserIsNotAMemberOfTheTeam


async def leave(ctx: Context, team: TeamRow, user_id: str) -> bool:
    """Remove a user, whose row is locked, from a team; return whether they were in it.

    The team is no longer the active one in any session of the user.
    """
    if not await ctx.db.execute(_DELETE_MEMBER, team_id=team.id, user_id=user_id):
        return False
    await active.lose_team(ctx, team.id, user_id)
    events.team_member_removed(ctx, team.organization_id, team.id, user_id)
    return True


async def membership(ctx: Context, team_id: str, user_id: str) -> TeamMemberRow | None:
    """Return the membership of a user in a team, or None."""
    row: TeamMemberRow | None = (
        await ctx.db.execute(FIND_TEAM_MEMBER, team_id=team_id, user_id=user_id)
    ).first()
    return row


async def _check_room(ctx: Context, team: TeamRow) -> None:
    number = int((await ctx.db.execute(COUNT_TEAM_MEMBERS, team_id=team.id)).scalar())
    if number >= ctx.policy[TeamPolicy].maximum_members:
        raise TeamMemberLimitReached  # defence: ORG13 team-member-limit
