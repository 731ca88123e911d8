"""The table `webhook_event`: events that are sent to webhook endpoints."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Index, select, text
from sqlmodel import Field, col

from models.base import ENCRYPTED, Instant, Record, Retention
from models.statements import insert, is_

PAYLOAD = "webhook_event.payload"
"""The purpose of the encryption of payloads."""

LIFETIME = timedelta(days=7)
"""How long deliveries of an event are attempted at most."""

_IS_KEPT = text("payload IS NOT NULL")


class WebhookEvent(Record, table=True):
    """One event. Receivers get its id with the prefix `msg_`, and recognize repeated deliveries by that."""

    __tablename__ = "webhook_event"
    __retention__ = (Retention("expires_at"),)
    __table_args__ = (
        Index("ix_webhook_event_payload", "created_at", postgresql_where=_IS_KEPT, sqlite_where=_IS_KEPT),
        Index(None, "user_id"),
        Index(None, "expires_at"),
    )

    type: str = Field(max_length=64)
    payload: bytes | None = Field(default=None, sa_column_kwargs=ENCRYPTED, repr=False)
    """The body of the webhook request, encrypted; None once it was erased."""
    user_id: str | None = Field(default=None, foreign_key="user.id", ondelete="SET NULL", max_length=32)
    expires_at: datetime = Field(sa_type=Instant)
    """When the row is deleted, with its deliveries."""


class WebhookEventRow(NamedTuple):
    """An event to write; the fields are those of `WebhookEvent`."""

    id: str
    type: str
    payload: bytes
    user_id: str | None
    expires_at: datetime
    created_at: datetime
    updated_at: datetime


ADD_EVENT = insert(WebhookEvent)

FIND_PAYLOAD = select(col(WebhookEvent.payload)).where(is_(WebhookEvent.id, "event_id"))
"""The payload of the event `event_id`."""
