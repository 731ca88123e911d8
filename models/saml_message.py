"""The table `saml_message`: used messages of identity providers, and the users and sessions that these signed out."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import UniqueConstraint, bindparam, or_, select
from sqlmodel import Field, col

from models.base import Instant, Record, Retention
from models.statements import insert, is_


class MessageKind(StrEnum):
    """What a row stands for: a used assertion, a used logout request or token, or a name that was signed out."""

    ASSERTION = "assertion"
    LOGOUT = "logout"
    SIGNED_OUT = "signed-out"


class SamlMessage(Record, table=True):
    """A used message, or a user or session that was signed out. `digest` is that of the message id or the name."""

    __tablename__ = "saml_message"
    __table_args__ = (UniqueConstraint("connection_id", "kind", "digest"),)
    __retention__ = (Retention("expires_at"),)

    connection_id: str = Field(foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32)
    kind: str = Field(max_length=16)
    digest: bytes = Field(repr=False)
    expires_at: datetime = Field(index=True, sa_type=Instant)


ADD_MESSAGE = insert(SamlMessage)

FIND_SIGNED_OUT = select(col(SamlMessage.id)).where(
    is_(SamlMessage.connection_id, "connection_id"),
    col(SamlMessage.kind) == MessageKind.SIGNED_OUT.value,
    or_(*(is_(SamlMessage.digest, name) for name in ("subject", "session", "both"))),
    col(SamlMessage.created_at) >= bindparam("since", type_=Instant()),
)
"""The rows since `since` that say that a connection has signed out a `subject`, a `session`, or `both` together."""
