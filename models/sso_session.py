"""The table `sso_session`: the single sign-on that opened a session, and the names at its identity provider."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, bindparam, select
from sqlmodel import Field, col

from models.base import ENCRYPTED, Instant, Timestamped
from models.queries import ReadStatement, by
from models.session import Session
from models.statements import insert, is_


class SsoSession(Timestamped, table=True):
    """The connection that opened a session, and what its identity provider calls the session and the user."""

    __tablename__ = "sso_session"
    __table_args__ = (Index(None, "connection_id", "session_index"), Index(None, "connection_id", "subject"))

    session_id: str = Field(primary_key=True, foreign_key="session.id", ondelete="CASCADE", max_length=32)
    connection_id: str = Field(foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32)
    subject: bytes = Field(repr=False)
    """The digest of the name by which the provider signs the user out (`sub`, or the value of the NameID)."""
    session_index: bytes | None = Field(default=None, repr=False)
    """The digest of the provider's own name of the session (`sid` or SessionIndex); None if it has sent none."""
    name_id: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    """The NameID with its format, and the SessionIndex, as encrypted JSON. A SAML logout request needs them."""
    authenticated_at: datetime | None = Field(default=None, sa_type=Instant)
    """When the user has authenticated at the provider; None if the provider does not say."""


ADD_SSO_SESSION = insert(SsoSession)


class SsoSessionRow(NamedTuple):
    """The origin of a session as read by a query; the fields are those of `SsoSession`."""

    session_id: str
    connection_id: str
    subject: bytes
    session_index: bytes | None
    name_id: bytes | None
    authenticated_at: datetime | None


_ORIGINS = select(*(col(getattr(SsoSession, name)) for name in SsoSessionRow._fields))

SSO_SESSION_OF = _ORIGINS.where(is_(SsoSession.session_id, "session_id")).execution_options(row=SsoSessionRow)
"""What is stored about the origin of the session `session_id`."""

SSO_SESSION_BY_ID = ReadStatement(_ORIGINS.where(by(SsoSession.session_id)), SsoSessionRow._make)
"""What is stored about the origin of the session with an id, outside any transaction."""

_ACTIVE_SESSIONS = (
    select(col(Session.user_id), col(Session.id))
    .join(SsoSession, col(SsoSession.session_id) == col(Session.id))
    .where(
        is_(SsoSession.connection_id, "connection_id"),
        col(Session.expires_at) > bindparam("now", type_=Instant()),
    )
    .order_by(col(Session.user_id), col(Session.id))
)

SESSIONS_OF_SUBJECT = _ACTIVE_SESSIONS.where(is_(SsoSession.subject, "subject"))
"""The active sessions of a `subject` at a connection, in the order in which users are locked."""

SESSIONS_OF_INDEX = _ACTIVE_SESSIONS.where(is_(SsoSession.session_index, "session_index"))
"""The active sessions that belong to one `session_index` at the provider of a connection, in the same order."""
