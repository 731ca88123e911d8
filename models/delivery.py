"""The table `delivery`: webhook events to send to endpoints. They are inserted in the transaction of the change."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Index, func, select, text
from sqlmodel import Field, col

from models.base import Instant, Record, Retention
from models.statements import insert, is_
from models.webhook_event import WebhookEvent

_HAS_ENDED = text("ended_at IS NOT NULL")


class DeliveryState(StrEnum):
    """The state of a delivery. A failed one has no attempts left; a canceled one lost its endpoint or its payload."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DeliveryError(StrEnum):
    """Why an attempt to deliver failed. It contains no text of the receiver and no network address."""

    DNS = "dns"
    REFUSED_ADDRESS = "refused_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    STATUS = "status"
    REDIRECT = "redirect"
    TOO_SLOW = "too_slow"
    EXPIRED = "expired"
    """No attempt was left before the event expired."""
    DISABLED = "disabled"
    """The endpoint was disabled."""


class Delivery(Record, table=True):
    """One event for one endpoint. A repeated delivery is a row of its own.

    The endpoint is not a foreign key: a deleted endpoint may have any number of past deliveries.
    """

    __retention__ = (Retention("ended_at", "webhooks.history_retention"),)
    __table_args__ = (
        Index(None, "endpoint_id", "state", "next_attempt"),
        Index(None, "endpoint_id", "created_at", "id"),
        Index(None, "event_id"),
        Index("ix_delivery_ended_at", "ended_at", postgresql_where=_HAS_ENDED, sqlite_where=_HAS_ENDED),
    )

    event_id: str = Field(foreign_key="webhook_event.id", ondelete="CASCADE", max_length=32)
    endpoint_id: str = Field(max_length=32)
    state: str = Field(default=DeliveryState.PENDING, max_length=16)
    attempts: int = 0
    next_attempt: datetime = Field(sa_type=Instant)
    lease_until: datetime | None = Field(default=None, sa_type=Instant)
    last_status: int | None = None
    """The HTTP status of the last response."""
    last_error: str | None = Field(default=None, max_length=16)
    ended_at: datetime | None = Field(default=None, sa_type=Instant)
    """When the delivery reached its final state."""


class ListedDelivery(NamedTuple):
    """A delivery with the type of its event."""

    id: str
    event_id: str
    endpoint_id: str
    state: str
    attempts: int
    next_attempt: datetime
    last_status: int | None
    last_error: str | None
    ended_at: datetime | None
    created_at: datetime
    type: str
    has_payload: bool
    """Whether the event can be sent again: its payload has not been erased."""


ADD_DELIVERY = insert(Delivery)

LIST_DELIVERIES = (
    select(
        *(col(getattr(Delivery, name)) for name in ListedDelivery._fields[:-2]),
        col(WebhookEvent.type),
        col(WebhookEvent.payload).is_not(None),
    )
    .join(WebhookEvent, col(Delivery.event_id) == col(WebhookEvent.id))
    .execution_options(row=ListedDelivery)
)
"""All deliveries with their events; callers add conditions."""

COUNT_PENDING = (
    select(col(Delivery.endpoint_id), func.count())
    .where(col(Delivery.state) == DeliveryState.PENDING.value)
    .group_by(col(Delivery.endpoint_id))
)
"""The number of pending deliveries of each endpoint; callers add a condition on the endpoints."""

FIND_DELIVERY = LIST_DELIVERIES.where(is_(Delivery.id, "delivery_id"))
"""The delivery `delivery_id`."""
