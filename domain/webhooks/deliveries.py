"""Record the outcome of an attempt, for the delivery and for its endpoint.

A delivery is delivered, postponed or failed. After three failures in a row an endpoint is failing: only one attempt,
the probe, is made at a time, and the other deliveries wait without counting attempts. The outcome of attempts that
began earlier does not change that. After a successful probe, at most 20 waiting deliveries a second become due.
Transactions lock the endpoint before its deliveries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Boolean, Interval, and_, bindparam, case, func, literal, or_, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.webhooks import events
from domain.webhooks.policy import WebhookPolicy
from models import leased_rows
from models.base import Instant
from models.delivery import Delivery, DeliveryError, DeliveryState
from models.statements import is_, table_of
from models.webhook_endpoint import LOCK_ENDPOINT, EndpointRow, EndpointState, WebhookEndpoint
from models.webhook_event import LIFETIME

DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
    timedelta(hours=24),
)
"""The time from each attempt to the next; the ninth attempt is the last."""

SPREAD = 0.2
"""The largest random change of a delay, as a fraction of it, in both directions."""

LONGEST_RETRY_AFTER = timedelta(hours=1)
"""The longest time by which a receiver can postpone the next attempt."""

FAILURES = 3
"""Failures in a row after which an endpoint is failing."""

FIRST_PROBE, LONGEST_PROBE = timedelta(seconds=10), timedelta(minutes=10)
"""The first and the longest time between two probes of a failing endpoint; it doubles with each failure."""

DRAIN_INTERVAL = timedelta(milliseconds=50)
"""The time between the deliveries that become due after a failing endpoint has recovered."""

_SUCCESS_EXACT_TO = timedelta(minutes=1)
"""How exact `last_success_at` is: otherwise every delivery would write the row of the endpoint."""

GONE = 410
"""The HTTP status by which a receiver asks for no more requests. The endpoint is then disabled."""


@dataclass(frozen=True, slots=True)
class LeasedDelivery:
    """A delivery that this instance may attempt until its lease expires."""

    id: str
    event_id: str
    endpoint: EndpointRow
    attempts: int
    created_at: datetime
    body: str = field(repr=False)
    secrets: Sequence[str] = field(repr=False)
    """The secrets that sign the request, the newest first."""

    @property
    def is_probe(self) -> bool:
        """Whether this is the probe of a failing endpoint."""
        return self.endpoint.next_probe is not None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed; `status` is the HTTP status, None without a response."""

    error: DeliveryError
    status: int | None = None
    retry_after: timedelta | None = None
    """The time for which the receiver asks to wait (Retry-After); None if it did not ask."""


IS_PENDING = col(Delivery.state) == DeliveryState.PENDING.value
OF_ENDPOINT = is_(Delivery.endpoint_id, "of_endpoint")
"""The condition that a delivery is for the endpoint `of_endpoint`."""
IS_ACTIVE = col(WebhookEndpoint.state) == EndpointState.ACTIVE.value

_END = (
    update(table_of(Delivery))
    .where(*leased_rows.is_claimed(Delivery), IS_PENDING)
    .values(lease_until=None)
    .returning(col(Delivery.id))
)
_CHANGE = update(table_of(WebhookEndpoint)).where(is_(WebhookEndpoint.id, "endpoint_id"))
_SUCCEEDED = _CHANGE.where(
    col(WebhookEndpoint.failing_since).is_(None),
    or_(
        col(WebhookEndpoint.failures) > 0,
        col(WebhookEndpoint.last_success_at).is_(None),
        col(WebhookEndpoint.last_success_at) < bindparam("stale", type_=Instant()),
    ),
)
_MORE_FAILURES = col(WebhookEndpoint.failures) + 1
_FAILED = (
    update(table_of(WebhookEndpoint))
    .where(
        is_(WebhookEndpoint.id, "endpoint_id"),
        # Others that were in flight would postpone the first probe, and have it overlap with another.
        or_(col(WebhookEndpoint.failing_since).is_(None), bindparam("is_probe", type_=Boolean())),
    )
    .values(
        failures=_MORE_FAILURES,
        failing_since=case(
            (
                _MORE_FAILURES >= FAILURES,
                func.coalesce(col(WebhookEndpoint.failing_since), bindparam("now", type_=Instant())),
            ),
            else_=None,
        ),
        updated_at=bindparam("now", type_=Instant()),
    )
    .returning(col(WebhookEndpoint.failures), col(WebhookEndpoint.failing_since))
)
_DISABLE = (
    update(table_of(WebhookEndpoint))
    .where(is_(WebhookEndpoint.id, "endpoint_id"), IS_ACTIVE)
    .values(state=EndpointState.DISABLED.value)
    .returning(col(WebhookEndpoint.id))
)
END_PENDING = update(table_of(Delivery)).where(OF_ENDPOINT, IS_PENDING)
"""Sets columns of all pending deliveries of the endpoint `of_endpoint`."""


def _spread(interval: Any) -> Any:
    """Return the statement that gives the pending deliveries of an endpoint times with this interval.

    Those that are due later are counted too: a former spread may have given them the times of the next minutes.
    """
    number = func.row_number().over(order_by=(col(Delivery.next_attempt), col(Delivery.id))).label("number")
    now = bindparam("now", type_=Instant())
    is_in_flight = and_(col(Delivery.lease_until).is_not(None), col(Delivery.next_attempt) > now)
    rows = select(col(Delivery.id), number).where(OF_ENDPOINT, IS_PENDING, ~is_in_flight).subquery("waiting")
    due = now + rows.c.number * interval
    return (
        update(table_of(Delivery))
        .where(col(Delivery.id) == rows.c.id, col(Delivery.next_attempt) < due)
        .values(next_attempt=due)
        .execution_options(in_thread=True)
    )


_SPREAD = {
    "postgresql": _spread(literal(DRAIN_INTERVAL, Interval())),
    # Times are numbers of milliseconds there.
    "sqlite": _spread(DRAIN_INTERVAL // timedelta(milliseconds=1)),
}


async def mark_delivered(ctx: Context, delivery: LeasedDelivery, status: int) -> None:
    """Record a success. If it was the probe of a failing endpoint, the waiting deliveries become due at intervals."""
    endpoint_id = delivery.endpoint.id
    healthy = {
        "failures": 0,
        "failing_since": None,
        "next_probe": None,
        "last_success_at": ctx.now,
        "updated_at": ctx.now,
    }
    if delivery.is_probe:
        await ctx.db.execute(_CHANGE, endpoint_id=endpoint_id, **healthy)
        await spread(ctx, endpoint_id)  # defence: WH9 drain
    else:
        stale = ctx.now - _SUCCESS_EXACT_TO
        await ctx.db.execute(_SUCCEEDED, endpoint_id=endpoint_id, stale=stale, **healthy)
    await end(
        ctx, delivery.id, delivery.attempts, DeliveryState.DELIVERED, last_status=status, last_error=None
    )


async def spread(ctx: Context, endpoint_id: str) -> None:
    """Make the pending deliveries of an endpoint due one after the other, at intervals of DRAIN_INTERVAL."""
    await ctx.db.execute(_SPREAD[ctx.db.dialect], of_endpoint=endpoint_id, now=ctx.now)


async def mark_failed(ctx: Context, delivery: LeasedDelivery, failure: Failure) -> bool:
    """Record a failed attempt, and schedule the next one; return whether there is one.

    If there is none, the delivery fails. The endpoint may be disabled, for example if it has failed too long.
    """
    outcome = {"last_status": failure.status, "last_error": failure.error}
    reason = await _note_failure(ctx, delivery, failure)
    delay = _next_delay(delivery, failure)
    due = None if delay is None else ctx.now + delay
    if reason is None and due is not None and due < delivery.created_at + LIFETIME:
        claimed = leased_rows.claimed(delivery.id, delivery.attempts)
        await ctx.db.execute(_END, **claimed, next_attempt=due, updated_at=ctx.now, **outcome)
        return True
    if await end(ctx, delivery.id, delivery.attempts, DeliveryState.FAILED, **outcome):
        events.delivery_failed(ctx, delivery.endpoint.id, delivery.event_id, failure.error)
    if reason is not None:
        await disable(ctx, delivery.endpoint.id, reason)
    return False


async def _note_failure(ctx: Context, delivery: LeasedDelivery, failure: Failure) -> str | None:
    """Count a failure of an endpoint; return why it is to be disabled, if it is."""
    endpoint_id = delivery.endpoint.id
    row: EndpointRow | None = (await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=endpoint_id)).first()
    if row is None or row.url != delivery.endpoint.url:
        return None  # An attempt that began before says nothing about another URL.
    counted = (
        await ctx.db.execute(_FAILED, endpoint_id=endpoint_id, is_probe=delivery.is_probe, now=ctx.now)
    ).first()
    if failure.status == GONE:  # defence: WH17 gone
        return "gone"
    if counted is None or counted.failing_since is None:
        return None
    longest = ctx.policy[WebhookPolicy].disable_after
    if longest and ctx.now - counted.failing_since >= longest:  # defence: WH9 disabled
        return "failing"
    await probe_at(ctx, endpoint_id, ctx.now + _probe_delay(counted.failures))
    return None


def _next_delay(delivery: LeasedDelivery, failure: Failure) -> timedelta | None:
    """Return the time until the next attempt; None if the last one has failed."""
    if delivery.attempts > len(DELAYS):
        return None
    delay = DELAYS[delivery.attempts - 1] * (1 + tokens.spread(SPREAD))
    asked = min(failure.retry_after or timedelta(0), LONGEST_RETRY_AFTER)  # defence: WH17 at-most
    return max(delay, asked)


def _probe_delay(failures: int) -> timedelta:
    # The exponent is capped, because a timedelta cannot hold an arbitrarily large product.
    return min(FIRST_PROBE * (1 << min(failures - FAILURES, 10)), LONGEST_PROBE)


async def disable(ctx: Context, endpoint_id: str, reason: str) -> None:
    """Disable an active endpoint and fail its pending deliveries; do nothing if the endpoint is not active.

    The endpoint stays disabled until an administrator sets its state to `active`.
    """
    if not await ctx.db.execute(_DISABLE, endpoint_id=endpoint_id, updated_at=ctx.now):
        return
    await ctx.db.execute(
        END_PENDING,
        of_endpoint=endpoint_id,
        state=DeliveryState.FAILED,
        last_error=DeliveryError.DISABLED,
        ended_at=ctx.now,
        updated_at=ctx.now,
    )
    events.endpoint_disabled(ctx, endpoint_id, reason)


async def probe_at(ctx: Context, endpoint_id: str, time: datetime) -> None:
    """Set the time of the next probe of a failing endpoint."""
    await ctx.db.execute(_CHANGE, endpoint_id=endpoint_id, next_probe=time)


async def end(ctx: Context, delivery_id: str, attempt: int, state: DeliveryState, **values: Any) -> bool:
    """Set the final state of a claimed delivery; return False, and change nothing, if the claim is no longer valid."""
    ended = await ctx.db.execute(
        _END,
        **leased_rows.claimed(delivery_id, attempt),
        state=state,
        ended_at=ctx.now,
        updated_at=ctx.now,
        **values,
    )
    return bool(ended)
