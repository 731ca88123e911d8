"""The tables `team` and `team_member`: groups of members of an organization."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, UniqueConstraint, func, select
from sqlmodel import Field, SQLModel, col

from models.base import Instant
from models.statements import is_, table_of


class Team(SQLModel, table=True):
    """One team."""

    __table_args__ = (Index(None, "organization_id", "created_at"),)

    id: str = Field(primary_key=True, max_length=32)
    organization_id: str = Field(foreign_key="organization.id", ondelete="CASCADE", max_length=32)
    name: str
    created_at: datetime = Field(sa_type=Instant)
    # Null until the first change, as in Better Auth.
    updated_at: datetime | None = Field(default=None, sa_type=Instant)


class TeamMember(SQLModel, table=True):
    """One member of a team, who is a member of its organization."""

    __tablename__ = "team_member"
    __export__ = "teamMemberships"
    __table_args__ = (UniqueConstraint("team_id", "user_id"),)

    id: str = Field(primary_key=True, max_length=32)
    team_id: str = Field(foreign_key="team.id", ondelete="CASCADE", max_length=32)
    member_id: str = Field(foreign_key="member.id", ondelete="CASCADE", index=True, max_length=32)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", index=True, max_length=32)
    created_at: datetime = Field(sa_type=Instant)


class TeamRow(NamedTuple):
    """A team as read by a query; the fields are those of `Team`."""

    id: str
    organization_id: str
    name: str
    created_at: datetime
    updated_at: datetime | None


class TeamMemberRow(NamedTuple):
    """A member of a team as read by a query; the fields are those of `TeamMember`."""

    id: str
    team_id: str
    member_id: str
    user_id: str
    created_at: datetime


TEAM_COLUMNS = tuple(col(getattr(Team, name)) for name in TeamRow._fields)
"""The columns of a `TeamRow`."""

TEAM_MEMBER_COLUMNS = tuple(col(getattr(TeamMember, name)) for name in TeamMemberRow._fields)
"""The columns of a `TeamMemberRow`."""

_TEAMS = select(*TEAM_COLUMNS).execution_options(row=TeamRow)
_MEMBERSHIPS = select(*TEAM_MEMBER_COLUMNS).execution_options(row=TeamMemberRow)
_OLDEST = (col(Team.created_at), col(Team.id))

FIND_TEAM = _TEAMS.where(
    is_(Team.id, "team_id"),
    is_(Team.organization_id, "organization_id"),  # defence: ORG8 team-scope
)
"""The team `team_id` of `organization_id`."""

TEAMS_OF_ORGANIZATION = _TEAMS.where(is_(Team.organization_id, "organization_id")).order_by(*_OLDEST)
"""The teams of `organization_id`, the oldest first."""

TEAMS_OF_USER = (
    _TEAMS.join(TeamMember, col(TeamMember.team_id) == col(Team.id))
    .where(is_(TeamMember.user_id, "user_id"))
    .order_by(*_OLDEST)
)
"""The teams of `user_id` in all organizations, the oldest first."""

COUNT_TEAMS = (
    select(func.count()).select_from(table_of(Team)).where(is_(Team.organization_id, "organization_id"))
)
"""The number of teams of `organization_id`."""

FIND_TEAM_MEMBER = _MEMBERSHIPS.where(is_(TeamMember.team_id, "team_id"), is_(TeamMember.user_id, "user_id"))
"""The membership of `user_id` in `team_id`."""

MEMBERS_OF_TEAM = _MEMBERSHIPS.where(is_(TeamMember.team_id, "team_id")).order_by(
    col(TeamMember.created_at), col(TeamMember.id)
)
"""The members of `team_id`, the oldest first."""

COUNT_TEAM_MEMBERS = (
    select(func.count()).select_from(table_of(TeamMember)).where(is_(TeamMember.team_id, "team_id"))
)
"""The number of members of `team_id`."""
