"""The operations of openapi/paths/teams.yaml: teams of organizations and their members."""

from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import team_members, teams
from handlers import shapes, wire
from models.team import TeamMemberRow, TeamRow


# teams.create
async def create(ctx: Context, body: shapes.CreateTeamRequest) -> shapes.Team:
    """Create a team."""
    return team_shape(await teams.create(ctx, body["name"], body.get("organizationId")))


# teams.update
async def update(ctx: Context, body: shapes.UpdateTeamRequest) -> shapes.Team:
    """Rename a team."""
    data = body["data"]
    # The official client sends the organization among the new fields.
    sent = {place[key] for place in (body, data) for key in ("organizationId",) if key in place}
    if len(sent) > 1:
        problem = "must be the organization of the request"
        raise ValidationError(
            f"[body.data.organizationId] {problem}", Field("body", "data.organizationId", problem)
        )
    organization_id = next(iter(sent), None)
    return team_shape(await teams.rename(ctx, body["teamId"], data.get("name"), organization_id))


# teams.remove
async def remove(ctx: Context, body: shapes.RemoveTeamRequest) -> shapes.TeamMessage:
    """Remove a team."""
    await teams.remove(ctx, body["teamId"], body.get("organizationId"))
    return {"message": "Team removed successfully."}


# teams.list_all
async def list_all(ctx: Context, organization_id: str | None = None) -> shapes.TeamList:
    """Return the teams of an organization."""
    return [team_shape(row) for row in await teams.list_teams(ctx, organization_id)]


# teams.set_active
async def set_active(ctx: Context, body: shapes.SetActiveTeamRequest) -> shapes.Team | None:
    """Set the active team of the session."""
    team = await teams.set_active(ctx, body.get("teamId"), is_named="teamId" in body)
    return None if team is None else team_shape(team)


# teams.list_of_user
async def list_of_user(
    ctx: Context, user_id: str | None = None, organization_id: str | None = None
) -> shapes.TeamList:
    """Return the teams of a user, by default of the caller.

    Without `organization_id`, all teams of the caller are returned, but those of another user only in the active
    organization.
    """
    return [team_shape(row) for row in await teams.list_of_user(ctx, user_id, organization_id)]


# teams.list_members
async def list_members(
    ctx: Context, team_id: str | None = None, organization_id: str | None = None
) -> shapes.TeamMemberList:
    """Return the members of a team, by default of the active team in the active organization."""
    return [team_member_shape(row) for row in await team_members.list_members(ctx, team_id, organization_id)]


# teams.add_member
async def add_member(ctx: Context, body: shapes.TeamMemberRequest) -> shapes.TeamMember:
    """Add a member to a team."""
    added = await team_members.add_member(ctx, body["teamId"], body["userId"], body.get("organizationId"))
    return team_member_shape(added)


# teams.remove_member
async def remove_member(ctx: Context, body: shapes.TeamMemberRequest) -> shapes.TeamMessage:
    """Remove a member from a team."""
    await team_members.remove_member(ctx, body["teamId"], body["userId"], body.get("organizationId"))
    return {"message": "Team member removed successfully."}


def team_shape(row: TeamRow) -> shapes.Team:
    """Return a team in the form of API responses."""
    return {
        "id": row.id,
        "name": row.name,
        "organizationId": row.organization_id,
        "createdAt": wire.instant(row.created_at),
        "updatedAt": wire.optional_instant(row.updated_at),
    }


def team_member_shape(row: TeamMemberRow) -> shapes.TeamMember:
    """Return a member of a team in the form of API responses."""
    return {
        "id": row.id,
        "teamId": row.team_id,
        "userId": row.user_id,
        "createdAt": wire.instant(row.created_at),
    }
