"""The table `oauth_grant`: what a user has granted a client in one authorization, the parent of its tokens."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Index, delete, literal, or_, select, text, update
from sqlmodel import Field, col

from models.base import Access, Instant, Record, Retention
from models.oauth_client import OauthClient
from models.queries import ReadStatement, by
from models.statements import insert, is_, table_of

_HAS_CONNECTION = text("connection_id IS NOT NULL")


class OauthGrant(Record, table=True):
    """One authorization. A grant without `offline_access` (an online grant) ends with its session.

    Access tokens that are JWTs are not stored; they contain the id of their grant, so that its end can be found.
    """

    __tablename__ = "oauth_grant"
    __export__ = "oauthGrants"
    __retention__ = (Retention("expires_at"),)
    __table_args__ = (
        Index(
            "ix_oauth_grant_connection_id",
            "connection_id",
            postgresql_where=_HAS_CONNECTION,
            sqlite_where=_HAS_CONNECTION,
        ),
    )
    __access__ = (Access("oauth_grants", "connected applications", expiry="expires_at"),)

    client_id: str = Field(
        foreign_key="oauth_client.client_id", ondelete="CASCADE", index=True, max_length=512
    )
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", index=True, max_length=32)
    session_id: str | None = Field(
        default=None, foreign_key="session.id", ondelete="SET NULL", index=True, max_length=32
    )
    """The session in which the user has authorized the client; None once the session has ended."""
    connection_id: str | None = Field(
        default=None, foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32
    )
    """The SSO connection through which the session was opened; None for any other sign-in."""
    sid: str = Field(max_length=64)
    """The id of the session for this client; each client gets another id for the same session."""
    offline: bool = False
    """Whether the grant goes on when its session has ended."""
    scopes: str
    """The granted scopes, separated by spaces."""
    resources: str = ""
    """The URIs of the granted resources (RFC 8707), separated by spaces."""
    auth_time: datetime = Field(sa_type=Instant)
    amr: str = ""
    """The authentication methods (`amr`, RFC 8176), separated by spaces."""
    expires_at: datetime = Field(index=True, sa_type=Instant)
    revoked_at: datetime | None = Field(default=None, sa_type=Instant)


class GrantRow(NamedTuple):
    """A grant as read by a query; the fields are those of `OauthGrant`, without `connection_id`."""

    id: str
    client_id: str
    user_id: str
    session_id: str | None
    sid: str
    offline: bool
    scopes: str
    resources: str
    auth_time: datetime
    amr: str
    expires_at: datetime
    revoked_at: datetime | None
    created_at: datetime
    updated_at: datetime

    def is_live(self, now: datetime) -> bool:
        """Return whether tokens can be issued under the grant at `now`. The caller checks the session's expiry."""
        return (
            self.revoked_at is None
            and now < self.expires_at
            and (self.offline or self.session_id is not None)
        )


GRANT_COLUMNS = tuple(col(getattr(OauthGrant, name)) for name in GrantRow._fields)
"""The columns of a `GrantRow`."""


class ListedGrant(NamedTuple):
    """A grant with the name of its client."""

    id: str
    client_id: str
    user_id: str
    scopes: str
    resources: str
    offline: bool
    created_at: datetime
    expires_at: datetime
    client_name: str


LIST_GRANTS = (
    select(
        *(col(getattr(OauthGrant, name)) for name in ListedGrant._fields[:-1]), col(OauthClient.client_name)
    )
    .join(OauthClient, col(OauthClient.client_id) == col(OauthGrant.client_id))
    .execution_options(row=ListedGrant)
)
"""All grants with their clients; callers add conditions."""


def live(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for grants under which tokens can be issued at `now`, as in `GrantRow.is_live`."""
    return (
        col(OauthGrant.revoked_at).is_(None),
        col(OauthGrant.expires_at) > literal(now, Instant),
        or_(col(OauthGrant.offline), col(OauthGrant.session_id).is_not(None)),
    )


GRANTS_OF_USER = ReadStatement(
    select(*GRANT_COLUMNS).where(by(OauthGrant.user_id)), GrantRow._make, key=OauthGrant.user_id
)
"""Every grant of a user, unsorted, ended ones included."""

ADD_GRANT = insert(OauthGrant)

REVOKE_GRANT = (
    update(table_of(OauthGrant))
    .where(is_(OauthGrant.id, "grant_id"), col(OauthGrant.revoked_at).is_(None))
    .returning(col(OauthGrant.id))
)
"""End the grant `grant_id` with all its tokens: set `revoked_at` and `updated_at`."""

END_GRANTS_OF_USER = (
    delete(table_of(OauthGrant)).where(is_(OauthGrant.user_id, "user_id")).returning(col(OauthGrant.id))
)
"""Delete all grants of `user_id`, with their tokens."""

END_GRANTS_OF_CONSENT = END_GRANTS_OF_USER.where(is_(OauthGrant.client_id, "client_id"))
"""Delete all grants of `user_id` to `client_id`, with their tokens."""

END_GRANTS_OF_CONNECTION = delete(table_of(OauthGrant)).where(is_(OauthGrant.connection_id, "connection_id"))
"""Delete all grants in sessions that were opened through `connection_id`, with their tokens."""

END_GRANTS_OF_CONNECTION_AND_USER = END_GRANTS_OF_CONNECTION.where(is_(OauthGrant.user_id, "user_id"))
"""Delete the grants of `user_id` in sessions that were opened through `connection_id`, with their tokens."""

END_GRANTS_OF_CLIENT = (
    delete(table_of(OauthGrant)).where(is_(OauthGrant.client_id, "client_id")).returning(col(OauthGrant.id))
)
"""Delete all grants of `client_id`, with their tokens."""
