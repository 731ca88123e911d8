"""Teams of an organization, their members, and the active team of a session."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.errors import Forbidden
from domain.organizations import access, active, events, fields, roles
from domain.organizations.errors import (
    NoActiveOrganization,
    TeamIsManagedByADirectory,
    TeamMemberLimitReached,
    TeamNotFound,
    UnableToRemoveLastTeam,
    UserIsNotAMemberOfTheOrganization,
    UserIsNotAMemberOfTheTeam,
    UserIsNotAMemberOfTheTeamForbidden,
    YouAreNotAllowedToAccessThisOrganization,
    YouAreNotAllowedToCreateANewTeamMember,
    YouAreNotAllowedToCreateTeamsInThisOrganization,
    YouAreNotAllowedToDeleteTeamsInThisOrganization,
    YouAreNotAllowedToRemoveATeamMember,
    YouAreNotAllowedToUpdateThisMember,
    YouAreNotAllowedToUpdateThisTeam,
    YouAreNotAMemberOfThisOrganization,
    YouDoNotHaveAnActiveTeam,
    YouHaveReachedTheMaximumNumberOfTeams,
)
from domain.organizations.policy import TeamPolicy
from domain.users import locking
from models.member import MemberRow
from models.scim_link import LINK_OF_TEAM, LINKED_TEAMS
from models.statements import insert, table_of
from models.team import (
    COUNT_TEAM_MEMBERS,
    COUNT_TEAMS,
    FIND_TEAM,
    FIND_TEAM_MEMBER,
    MEMBERS_OF_TEAM,
    TEAM_COLUMNS,
    TEAMS_OF_ORGANIZATION,
    TEAMS_OF_USER,
    Team,
    TeamMember,
    TeamMemberRow,
    TeamRow,
)

MOST_LISTED = 1000
"""How many teams, or members of a team, are listed at most."""

_RENAME = (
    update(table_of(Team))
    .where(col(Team.id) == bindparam("team_id"))
    .returning(*TEAM_COLUMNS)
    .execution_options(row=TeamRow)
)
_DELETE = delete(table_of(Team)).where(col(Team.id) == bindparam("team_id")).returning(col(Team.id))
_DELETE_MEMBER = (
    delete(table_of(TeamMember))
    .where(col(TeamMember.team_id) == bindparam("team_id"), col(TeamMember.user_id) == bindparam("user_id"))
    .returning(col(TeamMember.id))
)


async def create(ctx: Context, name: str, organization_id: str | None) -> TeamRow:
    """Create a team in an organization, by default in the active one; return the team.

    Raises ValidationError, NoActiveOrganization, YouAreNotAllowedToCreateTeamsInThisOrganization,
    YouHaveReachedTheMaximumNumberOfTeams.
    """
    fields.name_of(name)
    error = YouAreNotAllowedToCreateTeamsInThisOrganization
    member = await _manager(ctx, organization_id, "team", "create", error)
    if await _count_teams(ctx, member.organization_id) >= ctx.policy[TeamPolicy].maximum:
        raise YouHaveReachedTheMaximumNumberOfTeams  # defence: ORG13 team-limit
    return await add(ctx, member.organization_id, name)


async def add(ctx: Context, organization_id: str, name: str) -> TeamRow:
    """Store a new team and return it. The caller has locked the organization."""
    row = TeamRow(tokens.token(), organization_id, name, ctx.now, None)
    await ctx.db.execute(insert(Team), **row._asdict())
    events.team_created(ctx, row)
    return row


async def rename(ctx: Context, team_id: str, name: str | None, organization_id: str | None) -> TeamRow:
    """Change the name of a team, unless `name` is None; return the team.

    If `organization_id` is None, the team is one of the active organization.

    Raises ValidationError, NoActiveOrganization, YouAreNotAllowedToUpdateThisTeam, TeamNotFound,
    TeamIsManagedByADirectory.
    """
    if name is not None:
        fields.name_of(name, "data.name")
    member = await _manager(ctx, organization_id, "team", "update", YouAreNotAllowedToUpdateThisTeam)
    team = await _own(ctx, member.organization_id, team_id)
    return team if name is None else await set_name(ctx, team.id, name)


async def set_name(ctx: Context, team_id: str, name: str) -> TeamRow:
    """Change the name of a team without a check of permissions; return it. The caller has locked the organization."""
    changed: TeamRow = (await ctx.db.execute(_RENAME, team_id=team_id, name=name, updated_at=ctx.now)).first()
    events.team_updated(ctx, changed)
    return changed


async def remove(ctx: Context, team_id: str, organization_id: str | None) -> None:
    """Delete a team; foreign keys remove it from invitations and sessions.

    If `organization_id` is None, the team is one of the active organization.

    Raises NoActiveOrganization, YouAreNotAllowedToDeleteTeamsInThisOrganization, TeamNotFound,
    TeamIsManagedByADirectory, UnableToRemoveLastTeam.
    """
    error = YouAreNotAllowedToDeleteTeamsInThisOrganization
    member = await _manager(ctx, organization_id, "team", "delete", error)
    team = await _own(ctx, member.organization_id, team_id)
    if not ctx.policy[TeamPolicy].allow_removing_all and await _count_teams(ctx, team.organization_id) <= 1:
        raise UnableToRemoveLastTeam
    await delete_row(ctx, team)


async def delete_row(ctx: Context, team: TeamRow) -> None:
    """Delete a team without a check of permissions. The caller has locked the organization."""
    await ctx.db.execute(_DELETE, team_id=team.id)
    events.team_removed(ctx, team)


async def list_teams(ctx: Context, organization_id: str | None) -> Sequence[TeamRow]:
    """Return the teams of an organization of the caller, by default of the active one, the oldest first.

    Raises NoActiveOrganization, YouAreNotAllowedToAccessThisOrganization.
    """
    chosen = await _chosen(ctx, organization_id)
    await access.require_member(ctx, chosen, YouAreNotAllowedToAccessThisOrganization)
    return await of_organization(ctx, chosen)


async def of_organization(ctx: Context, organization_id: str) -> Sequence[TeamRow]:
    """Return the teams of an organization, the oldest first."""
    rows: Sequence[TeamRow] = await ctx.db.execute(
        TEAMS_OF_ORGANIZATION.limit(MOST_LISTED), organization_id=organization_id
    )
    return rows


async def managed_by_directory(ctx: Context, organization_id: str) -> frozenset[str]:
    """Return the ids of the teams of an organization that a directory (SCIM) manages, and alone may change."""
    rows = await ctx.db.execute(LINKED_TEAMS, organization_id=organization_id)
    return frozenset(row.team_id for row in rows)


async def set_active(ctx: Context, team_id: str | None, *, is_named: bool) -> TeamRow | None:
    """Make a team of the caller in the active organization the active one of this session; return it.

    `is_named` says whether the request has a `team_id`: None then clears the active team, and None is returned. If the
    request has no `team_id`, the active team is returned unchanged, or None. Raises NoActiveOrganization, TeamNotFound,
    UserIsNotAMemberOfTheTeamForbidden.
    """
    if is_named and team_id is None:
        await locking.lock_caller(ctx)
        await active.activate_team(ctx, None)
        return None
    team_id = team_id or ctx.signed_in.session.active_team_id
    if team_id is None:
        return None
    # Who removes a member from a team locks the user first, so the membership lasts until the commit.
    await locking.lock_caller(ctx)
    chosen = await _chosen(ctx, None)
    await access.require_member(ctx, chosen, UserIsNotAMemberOfTheTeamForbidden)
    team = await _find(ctx, chosen, team_id)
    if await _membership(ctx, team.id, ctx.signed_in.user.id) is None:
        raise UserIsNotAMemberOfTheTeamForbidden
    await active.activate_team(ctx, team.id)
    return team


async def list_of_user(ctx: Context, user_id: str | None, organization_id: str | None) -> Sequence[TeamRow]:
    """Return the teams of a user; those of the caller if `user_id` is None.

    If `organization_id` is None, the caller's teams in all organizations are returned, but those of another user only
    in the active organization. Raises NoActiveOrganization, YouAreNotAMemberOfThisOrganization;
    YouAreNotAllowedToUpdateThisMember if the caller may not see another user's teams.
    """
    caller = ctx.signed_in.user.id
    of_user = TEAMS_OF_USER.limit(MOST_LISTED)
    if user_id in {None, caller} and organization_id is None:
        rows: Sequence[TeamRow] = await ctx.db.execute(of_user, user_id=caller)
        return rows
    chosen = await _chosen(ctx, organization_id)
    own = await access.require_member(ctx, chosen, YouAreNotAMemberOfThisOrganization)
    if user_id not in {None, caller}:
        access.require(ctx, own, "member", "update", YouAreNotAllowedToUpdateThisMember)
    theirs: Sequence[TeamRow] = await ctx.db.execute(
        of_user.where(col(Team.organization_id) == chosen), user_id=user_id or caller
    )
    return theirs


async def list_members(
    ctx: Context, team_id: str | None, organization_id: str | None
) -> Sequence[TeamMemberRow]:
    """Return the members of a team, the oldest first. By default the active team and organization are meant.

    Raises YouDoNotHaveAnActiveTeam, NoActiveOrganization, TeamNotFound, UserIsNotAMemberOfTheTeamForbidden.
    """
    team_id = team_id or ctx.signed_in.session.active_team_id
    if team_id is None:
        raise YouDoNotHaveAnActiveTeam
    chosen = await _chosen(ctx, organization_id)
    own = await access.require_member(ctx, chosen, UserIsNotAMemberOfTheTeamForbidden)
    team = await _find(ctx, chosen, team_id)
    is_inside = await _membership(ctx, team.id, own.user_id) is not None
    if not is_inside and not roles.permits(ctx.policy, own.role, "team", "update"):
        raise UserIsNotAMemberOfTheTeamForbidden
    rows: Sequence[TeamMemberRow] = await ctx.db.execute(MEMBERS_OF_TEAM.limit(MOST_LISTED), team_id=team.id)
    return rows


async def add_member(ctx: Context, team_id: str, user_id: str, organization_id: str | None) -> TeamMemberRow:
    """Add a member of an organization, by default of the active one, to a team; return the membership in the team.

    If the member is in the team already, the existing membership is returned.

    Raises NoActiveOrganization, YouAreNotAllowedToCreateANewTeamMember, TeamNotFound, TeamIsManagedByADirectory,
    UserIsNotAMemberOfTheOrganization, TeamMemberLimitReached.
    """
    own = await _manager(ctx, organization_id, "member", "update", YouAreNotAllowedToCreateANewTeamMember)
    team = await _own(ctx, own.organization_id, team_id)
    member = await access.find_member(ctx, own.organization_id, user_id)  # defence: ORG8 team-member
    if member is None:
        raise UserIsNotAMemberOfTheOrganization
    return await join(ctx, team, member)


async def join(ctx: Context, team: TeamRow, member: MemberRow) -> TeamMemberRow:
    """Add a member to a team without a check of permissions; return the membership in the team, new or existing.

    The caller has locked the organization. Raises TeamMemberLimitReached.
    """
    existing = await _membership(ctx, team.id, member.user_id)
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
    found = [await _own(ctx, organization_id, team_id) for team_id in dict.fromkeys(team_ids)]
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
    own = await _manager(ctx, organization_id, "member", "delete", YouAreNotAllowedToRemoveATeamMember)
    team = await _own(ctx, own.organization_id, team_id)
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


async def _chosen(ctx: Context, organization_id: str | None) -> str:
    chosen = await access.named(ctx, organization_id)
    if chosen is None:
        raise NoActiveOrganization
    return chosen


async def _manager(
    ctx: Context, organization_id: str | None, resource: str, action: str, error: type[Forbidden]
) -> MemberRow:
    """Lock an organization, and return the caller's membership with a permission there."""
    chosen = await _chosen(ctx, organization_id)
    await access.lock(ctx, chosen)  # defence: ORG13 team-lock
    member = await access.require_member(ctx, chosen, error)
    access.require(ctx, member, resource, action, error)
    return member


async def _find(ctx: Context, organization_id: str, team_id: str) -> TeamRow:
    row: TeamRow | None = (
        await ctx.db.execute(FIND_TEAM, team_id=team_id, organization_id=organization_id)
    ).first()
    if row is None:
        raise TeamNotFound
    return row


async def _own(ctx: Context, organization_id: str, team_id: str) -> TeamRow:
    """Return a team that the organization itself manages. Raises TeamNotFound, TeamIsManagedByADirectory."""
    row = await _find(ctx, organization_id, team_id)
    if await ctx.db.execute(LINK_OF_TEAM, team_id=row.id):  # defence: SSO12 managed-teams
        raise TeamIsManagedByADirectory
    return row


async def _membership(ctx: Context, team_id: str, user_id: str) -> TeamMemberRow | None:
    row: TeamMemberRow | None = (
        await ctx.db.execute(FIND_TEAM_MEMBER, team_id=team_id, user_id=user_id)
    ).first()
    return row


async def _count_teams(ctx: Context, organization_id: str) -> int:
    return int((await ctx.db.execute(COUNT_TEAMS, organization_id=organization_id)).scalar())


async def _check_room(ctx: Context, team: TeamRow) -> None:
    number = int((await ctx.db.execute(COUNT_TEAM_MEMBERS, team_id=team.id)).scalar())
    if number >= ctx.policy[TeamPolicy].maximum_members:
        raise TeamMemberLimitReached  # defence: ORG13 team-member-limit
