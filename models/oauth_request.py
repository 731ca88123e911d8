"""The table `oauth_request`: authorization and logout requests that wait for their user."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import bindparam, delete, select, update
from sqlmodel import Field, col

from models.base import Instant, Retention, Timestamped
from models.queries import ReadStatement, by
from models.statements import insert, is_, table_of


class RequestKind(StrEnum):
    """What a stored request asks for."""

    AUTHORIZE = "authorize"
    LOGOUT = "logout"


class OauthRequest(Timestamped, table=True):
    """One request, identified by the digest of its handle, a secret in the URLs of its pages."""

    __tablename__ = "oauth_request"
    __retention__ = (Retention("expires_at"),)

    handle: bytes = Field(primary_key=True)
    kind: str = Field(max_length=16)
    client_id: str | None = Field(
        default=None,
        foreign_key="oauth_client.client_id",
        ondelete="CASCADE",
        index=True,
        max_length=512,
    )
    payload: bytes = Field(repr=False)
    """All parameters as JSON, encrypted."""
    pushed: bool = False
    """Whether the client has sent it by a pushed authorization request (RFC 9126)."""
    arrived_at: datetime | None = Field(default=None, sa_type=Instant)
    """When the user's browser first arrived with the request; None for a pushed request before that."""
    selected_by: str | None = Field(default=None, max_length=32)
    """The session whose user has chosen this account for the request."""
    created_by: str | None = Field(default=None, max_length=32)
    """The session that was created by a sign-up for the request."""
    consent_by: str | None = Field(default=None, max_length=32)
    """The session in which the user has consented. The consent does not count in any other session."""
    consent_scopes: str | None = None
    """The scopes to which the user has consented, separated by spaces."""
    expires_at: datetime = Field(index=True, sa_type=Instant)


class OauthRequestRow(NamedTuple):
    """A stored request as read by a query; the fields are those of `OauthRequest`."""

    handle: bytes
    kind: str
    client_id: str | None
    payload: bytes
    pushed: bool
    arrived_at: datetime | None
    selected_by: str | None
    created_by: str | None
    consent_by: str | None
    consent_scopes: str | None
    expires_at: datetime
    created_at: datetime
    updated_at: datetime


REQUEST_COLUMNS = tuple(col(getattr(OauthRequest, name)) for name in OauthRequestRow._fields)
"""The columns of an `OauthRequestRow`."""

REQUEST_BY_HANDLE = ReadStatement(
    select(*REQUEST_COLUMNS).where(by(OauthRequest.handle)), OauthRequestRow._make
)
"""The request with a handle's digest, expired or not."""

ADD_REQUEST = insert(OauthRequest)

_IS_LIVE = (
    is_(OauthRequest.handle, "digest"),
    col(OauthRequest.expires_at) > bindparam("now", type_=Instant()),
)

ARRIVE = update(table_of(OauthRequest)).where(*_IS_LIVE, col(OauthRequest.arrived_at).is_(None))
"""Set `arrived_at` and `expires_at` of the pushed request with the digest `digest`, once."""

NOTE_ON_REQUEST = update(table_of(OauthRequest)).where(*_IS_LIVE).returning(col(OauthRequest.handle))
"""Set the given columns of the request with the digest `digest`, if it is live at `now`."""

TAKE_REQUEST = delete(table_of(OauthRequest)).where(*_IS_LIVE).returning(col(OauthRequest.handle))
"""Delete the request with the digest `digest`, if it is live at `now`. Of simultaneous calls one gets a row back."""
