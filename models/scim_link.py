"""The tables `scim_link`, the users and teams that a directory (SCIM) manages, and `scim_directory`, its state."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, UniqueConstraint, delete, func, select, text, update
from sqlmodel import Field, col

from models.base import ENCRYPTED, Instant, Record, Timestamped
from models.sso_connection import SsoConnection
from models.statements import insert, is_, table_of
from models.team import Team
from models.user import User

ATTRIBUTES = "scim_link.attributes"
"""The purpose under which the attributes of a resource are encrypted."""

_IS_USER, _IS_TEAM = text("user_id IS NOT NULL"), text("team_id IS NOT NULL")
_IS_NAMED_USER = text("user_id IS NOT NULL AND external_id IS NOT NULL")
_IS_NAMED_TEAM = text("team_id IS NOT NULL AND external_id IS NOT NULL")


def _partial(name: str, *columns: str, where: object, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, postgresql_where=where, sqlite_where=where)


class ScimLink(Record, table=True):
    """One user or team of a directory. The directory knows it by the id of the user or team, not by the link's `id`."""

    __tablename__ = "scim_link"
    __export__ = "directoryEntries"
    __table_args__ = (
        UniqueConstraint("connection_id", "user_id"),
        UniqueConstraint("connection_id", "team_id"),
        _partial(
            "ix_scim_link_external_user", "connection_id", "external_id", where=_IS_NAMED_USER, unique=True
        ),
        _partial(
            "ix_scim_link_external_team", "connection_id", "external_id", where=_IS_NAMED_TEAM, unique=True
        ),
        Index(None, "user_id"),
        Index(None, "team_id"),
        _partial("ix_scim_link_users", "connection_id", "id", where=_IS_USER),
        _partial("ix_scim_link_teams", "connection_id", "id", where=_IS_TEAM),
    )

    connection_id: str = Field(foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32)
    user_id: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    team_id: str | None = Field(default=None, foreign_key="team.id", ondelete="CASCADE", max_length=32)
    external_id: str | None = Field(default=None, max_length=256)
    active: bool = True
    provisioned: bool = False
    """Whether the directory created the user."""
    role: str | None = None
    """The roles that a disabled user had in the organization, and gets back when the directory enables them."""
    attributes: bytes = Field(sa_column_kwargs=ENCRYPTED, repr=False)
    """The attributes of the user or team that the directory has sent, as JSON."""
    version: int = 1


class ScimDirectory(Timestamped, table=True):
    """The state of one directory; its row is locked while the directory changes users."""

    __tablename__ = "scim_directory"

    connection_id: str = Field(
        primary_key=True, foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32
    )
    window_began_at: datetime | None = Field(default=None, sa_type=Instant)
    window_members: int = 0
    """The number of active users when the present window of one hour began."""
    window_disabled: int = 0
    """The number of users that the directory disabled or deleted in the present window."""
    stopped_at: datetime | None = Field(default=None, sa_type=Instant)


class DirectoryRow(NamedTuple):
    """The state of a directory as read by a query."""

    connection_id: str
    window_began_at: datetime | None
    window_members: int
    window_disabled: int
    stopped_at: datetime | None


class ScimLinkRow(NamedTuple):
    """A user or team of a directory as read by a query."""

    id: str
    """The id of the link."""
    resource_id: str
    """The id of the user or team, under which the directory knows it."""
    external_id: str | None
    active: bool
    provisioned: bool
    role: str | None
    attributes: bytes
    version: int
    created_at: datetime
    updated_at: datetime
    name: str
    """The email address of a user, or the name of a team."""


_COLUMNS = tuple(
    col(getattr(ScimLink, name))
    for name in (
        *("external_id", "active", "provisioned", "role", "attributes"),
        *("version", "created_at", "updated_at"),
    )
)

SCIM_USERS = (
    select(col(ScimLink.id), col(ScimLink.user_id), *_COLUMNS, col(User.email))
    .join(User, col(User.id) == col(ScimLink.user_id))
    .where(
        is_(ScimLink.connection_id, "connection_id"),  # defence: SSO12 own-users
    )
    .execution_options(row=ScimLinkRow)
)
"""The users of the directory of a connection."""

SCIM_TEAMS = (
    select(col(ScimLink.id), col(ScimLink.team_id), *_COLUMNS, col(Team.name))
    .join(Team, col(Team.id) == col(ScimLink.team_id))
    .where(
        is_(ScimLink.connection_id, "connection_id"),  # defence: SSO12 own-teams
    )
    .execution_options(row=ScimLinkRow)
)
"""The teams of the directory of a connection."""

COUNT_ACTIVE = (
    select(func.count())
    .select_from(table_of(ScimLink))
    .where(
        is_(ScimLink.connection_id, "connection_id"),
        col(ScimLink.user_id).is_not(None),
        col(ScimLink.active),
    )
)
"""How many active users the directory of a connection has."""

_DISABLED = (
    select(col(ScimLink.id))
    .join(SsoConnection, col(SsoConnection.id) == col(ScimLink.connection_id))
    .where(is_(ScimLink.user_id, "user_id"), ~col(ScimLink.active))
)
_ORGANIZATION = (
    select(col(SsoConnection.organization_id)).where(is_(SsoConnection.id, "connection_id")).scalar_subquery()
)

DISABLED_LINK = _DISABLED.where(
    is_(ScimLink.connection_id, "connection_id") | (col(SsoConnection.organization_id) == _ORGANIZATION)
)
"""The links by which a directory has disabled the user `user_id`: the directory of a connection, or another one of the
same organization."""

DISABLED_IN_ORGANIZATION = _DISABLED.where(is_(SsoConnection.organization_id, "organization_id"))
"""The links by which any directory of an organization has disabled the user `user_id`."""

ADD_LINK = insert(ScimLink)

CHANGE_LINK = update(table_of(ScimLink)).where(is_(ScimLink.id, "link_id"))
"""Set the given columns of the link `link_id`."""

REMOVE_LINK = delete(table_of(ScimLink)).where(is_(ScimLink.id, "link_id"))

REMOVE_LINK_OF_USER = delete(table_of(ScimLink)).where(
    is_(ScimLink.connection_id, "connection_id"), is_(ScimLink.user_id, "user_id")
)
"""Delete the link of the user `user_id` with the directory of a connection."""

LINK_OF_TEAM = select(col(ScimLink.id)).where(is_(ScimLink.team_id, "team_id"))
"""The links of the team `team_id`. If there is one, a directory manages the team."""

LINKED_TEAMS = (
    select(col(ScimLink.team_id))
    .join(Team, col(Team.id) == col(ScimLink.team_id))
    .where(is_(Team.organization_id, "organization_id"))
)
"""The ids of the teams of an organization that a directory manages."""

FIND_STATE = (
    select(*(col(getattr(ScimDirectory, name)) for name in DirectoryRow._fields))
    .where(is_(ScimDirectory.connection_id, "connection_id"))
    .execution_options(row=DirectoryRow)
)
"""The state of the directory of a connection."""

LOCK_STATE = FIND_STATE.with_for_update()
"""The state of the directory of a connection, locked until the transaction ends."""

ADD_STATE = insert(ScimDirectory)

CHANGE_STATE = update(table_of(ScimDirectory)).where(is_(ScimDirectory.connection_id, "directory"))
"""Set the given columns of the state of the connection `directory`."""
