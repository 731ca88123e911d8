"""Audit events about webhooks, and the event that tests an endpoint."""

from collections.abc import Iterable

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType
from models import Outcome

TEST = EventType("webhook.test", has_user=False)

ENDPOINT_CREATED = Event(
    "webhook.endpoint_created", N_("A webhook endpoint was created"), in_history=False, important=True
)
ENDPOINT_UPDATED = Event("webhook.endpoint_updated", N_("A webhook endpoint was changed"), in_history=False)
ENDPOINT_DELETED = Event(
    "webhook.endpoint_deleted", N_("A webhook endpoint was deleted"), in_history=False, important=True
)
ENDPOINT_DISABLED = Event(
    "webhook.endpoint_disabled",
    N_("A webhook endpoint was disabled because it failed"),
    in_history=False,
    important=True,
)
SECRET_ROTATED = Event(
    "webhook.secret_rotated", N_("The secret of a webhook endpoint was replaced"), in_history=False
)
REDELIVERED = Event(
    "webhook.redelivered", N_("An event was sent to a webhook endpoint again"), in_history=False
)
DELIVERY_FAILED = Event(
    "webhook.delivery_failed", N_("An event could not be delivered to a webhook endpoint"), in_history=False
)
BACKLOG_FULL = Event(
    "webhook.backlog_full",
    N_("Events for a webhook endpoint were dropped because too many wait"),
    in_history=False,
    important=True,
)


def endpoint_created(ctx: Context, endpoint_id: str, *, by_operator: bool = False) -> None:
    """Record that an endpoint was created."""
    record(ctx, ENDPOINT_CREATED, by_operator=by_operator, endpointId=endpoint_id)


def endpoint_updated(
    ctx: Context, endpoint_id: str, fields: Iterable[str], *, by_operator: bool = False
) -> None:
    """Record that these fields of an endpoint were changed."""
    record(ctx, ENDPOINT_UPDATED, by_operator=by_operator, endpointId=endpoint_id, fields=sorted(fields))


def endpoint_deleted(ctx: Context, endpoint_id: str, *, by_operator: bool = False) -> None:
    """Record that an endpoint was deleted."""
    record(ctx, ENDPOINT_DELETED, by_operator=by_operator, endpointId=endpoint_id)


def endpoint_disabled(ctx: Context, endpoint_id: str, reason: str) -> None:
    """Record that the service disabled an endpoint; `reason` is `failing`, `gone` or `secret` (it has no readable
    secret)."""
    record(ctx, ENDPOINT_DISABLED, endpointId=endpoint_id, reason=reason)


def secret_rotated(ctx: Context, endpoint_id: str, *, by_operator: bool = False) -> None:
    """Record that the secret of an endpoint was replaced."""
    record(ctx, SECRET_ROTATED, by_operator=by_operator, endpointId=endpoint_id)


def redelivered(ctx: Context, endpoint_id: str, event_id: str, *, by_operator: bool = False) -> None:
    """Record that a past event was queued to be sent to an endpoint again."""
    record(ctx, REDELIVERED, by_operator=by_operator, endpointId=endpoint_id, eventId=event_id)


def delivery_failed(ctx: Context, endpoint_id: str, event_id: str, reason: str) -> None:
    """Record that a delivery failed finally: its last attempt failed, or it waited too long."""
    record(
        ctx,
        DELIVERY_FAILED,
        outcome=Outcome.FAILURE,
        endpointId=endpoint_id,
        eventId=event_id,
        reason=reason,
    )


def backlog_full(ctx: Context, endpoint_id: str, dropped: int) -> None:
    """Record that deliveries were deleted because too many wait for the endpoint; `dropped` is their number."""
    record(ctx, BACKLOG_FULL, endpointId=endpoint_id, dropped=dropped)
