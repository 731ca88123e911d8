"""The table `scim_token`: tokens with which directories (SCIM) authenticate."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, delete, or_, select, update
from sqlmodel import Field, col

from models.base import Access, Instant, Record
from models.sso_connection import CONNECTION_COLUMNS, ConnectionRow, ConnectionState, SsoConnection
from models.statements import insert, is_, table_of


class ScimToken(Record, table=True):
    """One token of a connection, stored as its digest."""

    __tablename__ = "scim_token"
    # A stranger who created a token from an account with another's address keeps its text.
    __access__ = (  # defence: M5 directory-tokens
        Access("scim_tokens", "tokens of directories", expiry="expires_at", owner="created_by"),
    )

    connection_id: str = Field(foreign_key="sso_connection.id", index=True, ondelete="CASCADE", max_length=32)
    token: bytes = Field(unique=True, repr=False)
    name: str = Field(max_length=64)
    created_by: str | None = Field(default=None, max_length=32)
    last_used_at: datetime | None = Field(default=None, sa_type=Instant)
    """When the token was last used, roughly to the hour."""
    expires_at: datetime | None = Field(default=None, sa_type=Instant)
    """None if it does not expire."""


class ScimTokenRow(NamedTuple):
    """A token as read by a query, without its digest."""

    id: str
    connection_id: str
    name: str
    created_by: str | None
    last_used_at: datetime | None
    expires_at: datetime | None
    created_at: datetime


_COLUMNS = tuple(col(getattr(ScimToken, name)) for name in ScimTokenRow._fields)
_IS_LIVE = or_(
    col(ScimToken.expires_at).is_(None), col(ScimToken.expires_at) > bindparam("now", type_=Instant())
)


class Directory(NamedTuple):
    """The connection of the directory that sends a request, and the id of the token in the request."""

    connection: ConnectionRow
    token_id: str


FIND_DIRECTORY = (
    select(
        *CONNECTION_COLUMNS, col(ScimToken.id).label("token_id"), col(ScimToken.last_used_at).label("used")
    )
    .join(ScimToken, col(ScimToken.connection_id) == col(SsoConnection.id))
    .where(
        is_(ScimToken.token, "digest"),
        _IS_LIVE,  # defence: SSO12 token-expiry
        col(SsoConnection.state) != ConnectionState.PAUSED.value,  # defence: SSO12 paused
    )
)
"""The connection of the token with a `digest`, and the id and last use of the token.

Nothing if the token has expired at `now`, or the connection is paused.
"""

TOKENS_OF_CONNECTION = (
    select(*_COLUMNS)
    .where(is_(ScimToken.connection_id, "connection_id"))
    .order_by(col(ScimToken.created_at), col(ScimToken.id))
    .execution_options(row=ScimTokenRow)
)
"""The tokens of a connection, the oldest first."""

ADD_TOKEN = insert(ScimToken)

REMOVE_TOKENS_OF_CREATOR = delete(table_of(ScimToken)).where(is_(ScimToken.created_by, "creator"))
"""Delete the tokens that the user `creator` has made."""

REMOVE_OTHERS_OF_CREATOR = delete(table_of(ScimToken)).where(
    is_(ScimToken.created_by, "creator"),
    col(ScimToken.id) != bindparam("token_id"),
    col(ScimToken.connection_id).in_(
        select(col(SsoConnection.id)).where(is_(SsoConnection.organization_id, "organization_id"))
    ),
)
"""Delete the tokens of an organization's directories that the user `creator` has made, except the token `token_id`."""

MARK_TOKEN_USED = update(table_of(ScimToken)).where(is_(ScimToken.id, "token_id"))
"""Set `last_used_at` and `updated_at` of the token `token_id`."""

REMOVE_TOKEN = (
    delete(table_of(ScimToken))
    .where(is_(ScimToken.id, "token_id"), is_(ScimToken.connection_id, "connection_id"))
    .returning(col(ScimToken.id))
)
"""Delete the token `token_id` of a connection."""
