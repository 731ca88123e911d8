"""Teams of an organization, and the active team of a session."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.organizations import access, active, events, fields, team_members
from domain.organizations.errors import (
    UnableToRemoveLastTeam,
    UserIsNotAMemberOfTheTeamForbidden,
    YouAreNotAllowedToAccessThisOrganization,
    YouAreNotAllowedToCreateTeamsInThisOrganization,
    YouAreNotAllowedToDeleteTeamsInThisOrganization,
    YouAreNotAllowedToUpdateThisMember,
    YouAreNotAllowedToUpdateThisTeam,
    YouAreNotAMemberOfThisOrganization,
    YouHaveReachedTheMaximumNumberOfTeams,
)
from domain.organizations.policy import TeamPolicy
from domain.users import locking
from models.scim_link import LINKED_TEAMS
from models.statements import insert, table_of
from models.team import (
    COUNT_TEAMS,
    TEAM_COLUMNS,
    TEAMS_OF_ORGANIZATION,
    TEAMS_OF_USER,
    Team,
    TeamRow,
)

_RENAME = (
    update(table_of(Team))
    .where(col(Team.id) == bindparam("team_id"))
    .returning(*TEAM_COLUMNS)
    .execution_options(row=TeamRow)
)
_DELETE = delete(table_of(Team)).where(col(Team.id) == bindparam("team_id")).returning(col(Team.id))


async def create(ctx: Context, name: str, organization_id: str | None) -> TeamRow:
    """Create a team in an organization, by default in the active one; return the team.

    Raises ValidationError, NoActiveOrganization, YouAreNotAllowedToCreateTeamsInThisOrganization,
    YouHaveReachedTheMaximumNumberOfTeams.
    """
    fields.name_of(name)
    error = YouAreNotAllowedToCreateTeamsInThisOrganization
    member = await access.require_manager(ctx, organization_id, "team", "create", error)
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
    member = await access.require_manager(
        ctx, organization_id, "team", "update", YouAreNotAllowedToUpdateThisTeam
    )
    team = await access.find_own_team(ctx, member.organization_id, team_id)
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
    member = await access.require_manager(ctx, organization_id, "team", "delete", error)
    team = await access.find_own_team(ctx, member.organization_id, team_id)
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
    chosen = await access.organization_of(ctx, organization_id)
    await access.require_member(ctx, chosen, YouAreNotAllowedToAccessThisOrganization)
    return await of_organization(ctx, chosen)


async def of_organization(ctx: Context, organization_id: str) -> Sequence[TeamRow]:
    """Return the teams of an organization, the oldest first."""
    rows: Sequence[TeamRow] = await ctx.db.execute(
        TEAMS_OF_ORGANIZATION.limit(access.MOST_IN_TEAM_LISTS), organization_id=organization_id
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
    chosen = await access.organization_of(ctx, None)
    await access.require_member(ctx, chosen, UserIsNotAMemberOfTheTeamForbidden)
    team = await access.find_team(ctx, chosen, team_id)
    if await team_members.membership(ctx, team.id, ctx.signed_in.user.id) is None:
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
    of_user = TEAMS_OF_USER.limit(access.MOST_IN_TEAM_LISTS)
    if user_id in {None, caller} and organization_id is None:
        rows: Sequence[TeamRow] = await ctx.db.execute(of_user, user_id=caller)
        return rows
    chosen = await access.organization_of(ctx, organization_id)
    own = await access.require_member(ctx, chosen, YouAreNotAMemberOfThisOrganization)
    if user_id not in {None, caller}:
        access.require(ctx, own, "member", "update", YouAreNotAllowedToUpdateThisMember)
    theirs: Sequence[TeamRow] = await ctx.db.execute(
        of_user.where(col(Team.organization_id) == chosen), user_id=user_id or caller
    )
    return theirs


async def _count_teams(ctx: Context, organization_id: str) -> int:
    return int((await ctx.db.execute(COUNT_TEAMS, organization_id=organization_id)).scalar())
