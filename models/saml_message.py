"""The table `saml_message`: messages of identity providers that must not be used again."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from models.base import Instant, Record, Retention
from models.statements import insert


class MessageKind(StrEnum):
    """What was used: an assertion, or a logout request or token."""

    ASSERTION = "assertion"
    LOGOUT = "logout"


class SamlMessage(Record, table=True):
    """One message, by the digest of its id."""

    __tablename__ = "saml_message"
    __table_args__ = (UniqueConstraint("connection_id", "kind", "digest"),)
    __retention__ = (Retention("expires_at"),)

    connection_id: str = Field(foreign_key="sso_connection.id", ondelete="CASCADE", max_length=32)
    kind: str = Field(max_length=16)
    digest: bytes = Field(repr=False)
    expires_at: datetime = Field(index=True, sa_type=Instant)


ADD_MESSAGE = insert(SamlMessage)
