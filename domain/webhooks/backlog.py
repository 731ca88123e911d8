"""The numbers of pending deliveries and of endpoints, for the metrics of operators."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import case, func, select
from sqlmodel import col

from domain.ports import Reads
from models.delivery import Delivery, DeliveryState
from models.queries import ReadStatement, by
from models.statements import table_of
from models.webhook_endpoint import EndpointState, WebhookEndpoint

FAILING = "failing"
"""The state of a failing active endpoint in the metrics."""


class Backlog(NamedTuple):
    """The pending deliveries to active endpoints: their number, and the creation time of the oldest (`since`).

    `due_since` is the earliest time at which one of them was due, apart from those to failing endpoints. The times are
    None if there are no such deliveries.
    """

    pending: int
    since: datetime | None
    due_since: datetime | None


_DUE = case((col(WebhookEndpoint.next_probe).is_(None), col(Delivery.next_attempt)))
_BACKLOG = ReadStatement(
    select(func.count(col(Delivery.id)), func.min(col(Delivery.created_at)), func.min(_DUE))
    .select_from(
        table_of(WebhookEndpoint).join(
            table_of(Delivery), col(Delivery.endpoint_id) == col(WebhookEndpoint.id)
        )
    )
    .where(by(WebhookEndpoint.state), col(Delivery.state) == DeliveryState.PENDING.value),
    Backlog._make,
)
_ENDPOINTS = ReadStatement(
    select(func.count(col(WebhookEndpoint.id)), func.count(col(WebhookEndpoint.failing_since))).where(
        by(WebhookEndpoint.state)
    ),
    tuple,
)


async def backlog(reads: Reads) -> Backlog:
    """Return the backlog of active endpoints. Raises Unavailable."""
    return await reads.one(_BACKLOG, EndpointState.ACTIVE) or Backlog(0, None, None)


async def endpoints_by_state(reads: Reads) -> Mapping[str, int]:
    """Return the number of endpoints by state; failing ones count as `failing`, not as active. Raises Unavailable."""
    numbers = {state: await reads.one(_ENDPOINTS, state) or (0, 0) for state in EndpointState}
    active, failing = numbers[EndpointState.ACTIVE]
    return {
        EndpointState.ACTIVE: active - failing,
        FAILING: failing,
        EndpointState.PAUSED: numbers[EndpointState.PAUSED][0],
        EndpointState.DISABLED: numbers[EndpointState.DISABLED][0],
    }
