"""The active organization and team of sessions."""

from sqlalchemy import bindparam, select, update
from sqlmodel import col

from domain.context import Context
from domain.organizations import access
from domain.organizations.policy import OrganizationPolicy, TeamPolicy
from domain.policy import Policy
from models.session import Session, SessionRow
from models.statements import is_, table_of
from models.team import Team

_OF_USER = is_(Session.user_id, "of_user")
_OWN = update(table_of(Session)).where(is_(Session.id, "session_id"), _OF_USER)
_LOSE_ORGANIZATION = (
    update(table_of(Session))
    .where(_OF_USER, col(Session.active_organization_id) == bindparam("organization_id"))
    .values(active_organization_id=None)
)
_LOSE_TEAMS = (
    update(table_of(Session))
    .where(
        _OF_USER,
        col(Session.active_team_id).in_(
            select(col(Team.id)).where(is_(Team.organization_id, "organization_id")).scalar_subquery()
        ),
    )
    .values(active_team_id=None)
)
_LOSE_TEAM = (
    update(table_of(Session))
    .where(_OF_USER, col(Session.active_team_id) == bindparam("team_id"))
    .values(active_team_id=None)
)


def visible(policy: Policy, session: SessionRow) -> SessionRow:
    """Return the session without its active organization or team if organizations or teams are disabled."""
    if session.active_organization_id is not None and not policy[OrganizationPolicy].enabled:
        return session._replace(active_organization_id=None, active_team_id=None)
    if session.active_team_id is not None and not policy[TeamPolicy].enabled:
        return session._replace(active_team_id=None)
    return session


async def activate(ctx: Context, organization_id: str | None, team_id: str | None = None) -> None:
    """Set the active organization and team of the caller's session; None clears them.

    The caller of this function has locked the session and its user.
    """
    await _set(ctx, active_organization_id=organization_id, active_team_id=team_id)


async def activate_team(ctx: Context, team_id: str | None) -> None:
    """Set the active team of the caller's session; None clears it.

    The caller of this function has locked the session and its user.
    """
    await _set(ctx, active_team_id=team_id)


async def _set(ctx: Context, **values: str | None) -> None:
    session = ctx.signed_in.session
    with access.retried():  # defence: ORG29 deleted-meanwhile
        await ctx.db.execute(
            _OWN, session_id=session.id, of_user=session.user_id, **values, updated_at=ctx.now
        )


async def lose_organization(ctx: Context, organization_id: str, user_id: str) -> None:
    """Remove an organization and its teams as the active ones from all sessions of a user, whose row is locked."""
    for statement in (_LOSE_ORGANIZATION, _LOSE_TEAMS):  # defence: ORG12 all-sessions
        await ctx.db.execute(statement, organization_id=organization_id, of_user=user_id)


async def lose_team(ctx: Context, team_id: str, user_id: str) -> None:
    """Remove a team as the active one from all sessions of a user, whose row is locked."""
    await ctx.db.execute(_LOSE_TEAM, team_id=team_id, of_user=user_id)
