"""The table `outbox`: mails to be delivered, written in the transaction of their cause."""

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Index
from sqlmodel import Field

from models.base import ENCRYPTED, Instant, Record, Retention


class MailState(StrEnum):
    """How far a mail has come."""

    UNRESOLVED = "unresolved"
    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"


class Outbox(Record, table=True):
    """One mail to one recipient. The payload is encrypted, and erased when the mail is sent or has failed for good."""

    __table_args__ = (Index(None, "state", "next_attempt"),)
    __export__ = "mails"
    # The last claim of a mail ran out within a minute of what was noted.
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
