"""The table `outbox`: emails to deliver, inserted in the transaction of the change that causes them."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Index
from sqlmodel import Field

from models.base import ENCRYPTED, Instant, Record, Retention
from models.statements import insert


class MailState(StrEnum):
    """The state of an email."""

    UNRESOLVED = "unresolved"
    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"


class Outbox(Record, table=True):
    """One email to one recipient, with an encrypted payload.

    When the email was sent, the payload is reduced to the recipient. A failed email keeps it if it can be sent again.
    """

    __table_args__ = (Index(None, "state", "next_attempt"),)
    __export__ = "mails"
    # The last claim of an email expired within a minute of the noted time.
    __retention__ = (
        Retention("next_attempt", timedelta(days=7), where=lambda row: row.state == MailState.SENT),
        Retention("next_attempt", timedelta(days=30), where=lambda row: row.state == MailState.FAILED),
    )

    state: str = MailState.QUEUED
    template: str
    sender: str
    user_id: str | None = Field(
        default=None, foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32
    )
    payload: bytes | None = Field(default=None, sa_column_kwargs=ENCRYPTED)
    attempts: int = 0
    next_attempt: datetime = Field(sa_type=Instant)
    lease_until: datetime | None = Field(default=None, sa_type=Instant)
    expires_at: datetime = Field(sa_type=Instant)
    last_error: str | None = None


class OutboxRow(NamedTuple):
    """An email to write; the fields are those of `Outbox`, which is slower to create."""

    id: str
    state: str
    template: str
    sender: str
    user_id: str | None
    payload: bytes
    next_attempt: datetime
    expires_at: datetime
    created_at: datetime
    updated_at: datetime
    attempts: int = 0


ADD_MAIL = insert(Outbox)
