"""The states of a delivery: written, claimed by lease, then delivered, postponed or failed; and those of its endpoint.

After three failures in a row an endpoint is failing: one attempt is made at a time, a probe, and everything else waits
without counting attempts. Attempts that began before do not change the state. After a successful probe what waits is
delivered at most 20 times a second. Transactions lock the endpoint before its deliveries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Boolean,
    Integer,
    Interval,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.webhooks import events
from domain.webhooks.policy import WebhookPolicy
from domain.webhooks.secrets import is_secret
from models import Audit, leased_rows
from models.base import Instant
from models.delivery import Delivery, DeliveryError, DeliveryState
from models.statements import is_, table_of
from models.webhook_endpoint import (
    ENDPOINT_COLUMNS,
    LOCK_ENDPOINT,
    PREVIOUS_SECRET,
    SECRET,
    EndpointRow,
    EndpointState,
    WebhookEndpoint,
)
from models.webhook_event import LIFETIME, PAYLOAD, WebhookEvent

LEASE = timedelta(seconds=60)

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
"""The part of a delay that is random, in both directions."""

LONGEST_RETRY_AFTER = timedelta(hours=1)
"""The longest time by which a receiver can postpone the next attempt."""

FAILURES = 3
"""Failures in a row after which an endpoint is failing."""

FIRST_PROBE, LONGEST_PROBE = timedelta(seconds=10), timedelta(minutes=10)
"""The time between two attempts at a failing endpoint: it doubles."""

DRAIN_INTERVAL = timedelta(milliseconds=50)
"""The time between two deliveries of what has waited for a failing endpoint."""

MOST_PENDING = 10_000
"""Deliveries of one endpoint that may wait; newer ones are dropped."""

REPORT_INTERVAL = timedelta(hours=1)
"""The time between two audit records that deliveries of an endpoint were dropped."""

_SUCCESS_EXACT_TO = timedelta(minutes=1)
"""How exact `last_success_at` is: otherwise every delivery would write the row of the endpoint."""

GONE = 410
"""The status of a receiver that wants no more requests."""


@dataclass(frozen=True, slots=True)
class DueEndpoint:
    """An active endpoint, and the time at which its next delivery may be attempted; None if none is pending."""

    row: EndpointRow
    due: datetime | None


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
    """The secrets that sign, the newest first."""

    @property
    def is_probe(self) -> bool:
        """Whether it is the one attempt at a failing endpoint."""
        return self.endpoint.next_probe is not None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed."""

    error: DeliveryError
    status: int | None = None
    retry_after: timedelta | None = None
    """The time by which the receiver asks to postpone the next attempt."""


_IS_PENDING = col(Delivery.state) == DeliveryState.PENDING.value
_OF_ENDPOINT = is_(Delivery.endpoint_id, "of_endpoint")
_IS_ACTIVE = col(WebhookEndpoint.state) == EndpointState.ACTIVE.value

_FIRST_DUE = (
    select(col(Delivery.next_attempt))
    .where(col(Delivery.endpoint_id) == col(WebhookEndpoint.id), _IS_PENDING)
    .order_by(col(Delivery.next_attempt))
    .limit(1)
    .scalar_subquery()
)
_DUE_ENDPOINTS = (
    select(*ENDPOINT_COLUMNS, _FIRST_DUE.label("due")).where(_IS_ACTIVE).order_by(col(WebhookEndpoint.id))
)
# One instance makes the one attempt at a failing endpoint.
_PROBE = (
    update(table_of(WebhookEndpoint))
    .where(
        is_(WebhookEndpoint.id, "endpoint_id"),
        col(WebhookEndpoint.next_probe) == bindparam("seen", type_=Instant()),
    )
    .returning(col(WebhookEndpoint.id))
)
_CLAIM = leased_rows.claim(
    Delivery,
    _OF_ENDPOINT,
    _IS_PENDING,
    returning=[col(getattr(Delivery, name)) for name in ("id", "event_id", "attempts", "created_at")],
)
_PAYLOADS = select(col(WebhookEvent.id), col(WebhookEvent.payload))

_END = (
    update(table_of(Delivery))
    .where(*leased_rows.is_claimed(Delivery), _IS_PENDING)
    .values(lease_until=None)
    .returning(col(Delivery.id))
)
_RECOVERED = update(table_of(WebhookEndpoint)).where(is_(WebhookEndpoint.id, "endpoint_id"))
_SUCCEEDED = _RECOVERED.where(
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
_NEXT_PROBE = update(table_of(WebhookEndpoint)).where(is_(WebhookEndpoint.id, "endpoint_id"))
_DISABLE = (
    update(table_of(WebhookEndpoint))
    .where(is_(WebhookEndpoint.id, "endpoint_id"), _IS_ACTIVE)
    .values(state=EndpointState.DISABLED.value)
    .returning(col(WebhookEndpoint.id))
)
END_PENDING = update(table_of(Delivery)).where(_OF_ENDPOINT, _IS_PENDING)
"""Set the given columns of all pending deliveries of the endpoint `of_endpoint`."""

_EXPIRE = (
    update(table_of(Delivery))
    .where(
        col(Delivery.id).in_(
            select(col(Delivery.id))
            .where(
                _OF_ENDPOINT, _IS_PENDING, col(Delivery.created_at) <= bindparam("oldest", type_=Instant())
            )
            .limit(1000)
        )
    )
    .returning(col(Delivery.event_id))
)
_OLDEST_FIRST = (
    select(col(Delivery.id))
    .where(_OF_ENDPOINT, _IS_PENDING)
    .order_by(col(Delivery.created_at), col(Delivery.id))
)
_DROP_EXCESS = (
    delete(table_of(Delivery))
    .where(col(Delivery.id).in_(_OLDEST_FIRST.offset(bindparam("most", type_=Integer()))))
    .returning(col(Delivery.id))
    .execution_options(in_thread=True)
)
_IS_FULL = (
    # In the order of an index that has the pending rows only; that of creation has the past ones too.
    select(col(Delivery.id))
    .where(_OF_ENDPOINT, _IS_PENDING)
    .order_by(col(Delivery.next_attempt))
    .offset(bindparam("most", type_=Integer()))
    .limit(1)
)
_REPORTS = select(col(Audit.details)).where(
    col(Audit.event) == events.BACKLOG_FULL.name,
    col(Audit.time) > bindparam("since", type_=Instant()),
    col(Audit.time) <= bindparam("now", type_=Instant()),
)


def _spread(interval: Any) -> Any:
    """Return the statement that gives the pending deliveries of an endpoint times with this interval.

    Those that are due later are counted too: a former spread may have given them the times of the next minutes.
    """
    number = func.row_number().over(order_by=(col(Delivery.next_attempt), col(Delivery.id))).label("number")
    now = bindparam("now", type_=Instant())
    is_in_flight = and_(col(Delivery.lease_until).is_not(None), col(Delivery.next_attempt) > now)
    rows = (
        select(col(Delivery.id), number).where(_OF_ENDPOINT, _IS_PENDING, ~is_in_flight).subquery("waiting")
    )
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


async def due_endpoints(ctx: Context) -> Sequence[DueEndpoint]:
    """Return all active endpoints, each with the time at which it may receive its next delivery."""
    return [_due_endpoint(row) for row in await ctx.db.execute(_DUE_ENDPOINTS)]


def _due_endpoint(row: Sequence[Any]) -> DueEndpoint:
    endpoint, due = EndpointRow._make(row[:-1]), row[-1]
    if due is not None and endpoint.next_probe is not None:
        due = max(due, endpoint.next_probe)
    return DueEndpoint(endpoint, due)


async def claim(
    ctx: Context, endpoints: Mapping[str, int], due: Sequence[DueEndpoint]
) -> list[LeasedDelivery]:
    """Claim due deliveries: of each of the endpoints, by id, at most this number. Others are skipped."""
    claimed = [
        (one.row, row)
        for one in due
        if one.row.id in endpoints
        for row in await _claim_of(ctx, one.row, endpoints[one.row.id])
    ]
    payloads = await _payloads(ctx, {row.event_id for _, row in claimed})
    deliveries: list[LeasedDelivery] = []
    for endpoint, row in claimed:
        body, secrets = payloads.get(row.event_id), live_secrets(ctx, endpoint)
        if not secrets:
            await disable(ctx, endpoint.id, "secret")
        elif body is None:
            await _end(ctx, row.id, row.attempts, DeliveryState.CANCELLED)
        elif row.created_at + LIFETIME <= ctx.now:
            await _end(ctx, row.id, row.attempts, DeliveryState.FAILED, last_error=DeliveryError.EXPIRED)
            events.delivery_failed(ctx, endpoint.id, row.event_id, DeliveryError.EXPIRED)
        else:
            deliveries.append(
                LeasedDelivery(row.id, row.event_id, endpoint, row.attempts, row.created_at, body, secrets)
            )
    attempted = {delivery.endpoint.id for delivery in deliveries}
    for endpoint, _ in claimed:
        if endpoint.next_probe is not None and endpoint.id not in attempted:
            # Its probe is the next delivery, without the wait for the end of a lease.
            await ctx.db.execute(_NEXT_PROBE, endpoint_id=endpoint.id, next_probe=ctx.now)
    return deliveries


async def _claim_of(ctx: Context, endpoint: EndpointRow, limit: int) -> Sequence[Any]:
    until = ctx.now + LEASE
    if endpoint.next_probe is not None:
        # defence: WH9 one-probe
        if not await ctx.db.execute(
            _PROBE, endpoint_id=endpoint.id, seen=endpoint.next_probe, next_probe=until
        ):
            return ()
        await _expire(ctx, endpoint.id)
        limit = 1
    return await ctx.db.execute(_CLAIM, of_endpoint=endpoint.id, now=ctx.now, until=until, most=limit)


async def _expire(ctx: Context, endpoint_id: str) -> None:
    """End deliveries that waited too long; one by one, they would take the turns of a day of probes."""
    expired = await ctx.db.execute(
        _EXPIRE,
        of_endpoint=endpoint_id,
        oldest=ctx.now - LIFETIME,
        state=DeliveryState.FAILED,
        last_error=DeliveryError.EXPIRED,
        ended_at=ctx.now,
        updated_at=ctx.now,
    )
    for event_id in expired.scalars():
        events.delivery_failed(ctx, endpoint_id, event_id, DeliveryError.EXPIRED)


async def _payloads(ctx: Context, ids: set[str]) -> Mapping[str, str | None]:
    if not ids:
        return {}
    rows = await ctx.db.execute(_PAYLOADS.where(col(WebhookEvent.id).in_(sorted(ids))))
    return {row.id: None if row.payload is None else ctx.cipher.decrypt(PAYLOAD, row.payload) for row in rows}


def live_secrets(ctx: Context, endpoint: EndpointRow) -> Sequence[str]:
    """Return the secrets that sign now, the newest first; none if the newest cannot be decrypted or used."""
    newest = ctx.cipher.decrypt(SECRET, endpoint.secret)
    # The library signs with an empty key, too.
    if newest is None or not is_secret(newest):
        return ()
    sealed, until = endpoint.previous_secret, endpoint.previous_until
    is_live = sealed is not None and until is not None and ctx.now < until  # defence: WH7 overlap
    previous = ctx.cipher.decrypt(PREVIOUS_SECRET, sealed) if is_live and sealed is not None else None
    return (newest,) if previous is None or not is_secret(previous) else (newest, previous)


async def mark_delivered(ctx: Context, delivery: LeasedDelivery, status: int) -> None:
    """Record a success; what has waited for a failing endpoint becomes due bit by bit."""
    endpoint_id = delivery.endpoint.id
    healthy = {
        "failures": 0,
        "failing_since": None,
        "next_probe": None,
        "last_success_at": ctx.now,
        "updated_at": ctx.now,
    }
    if delivery.is_probe:
        await ctx.db.execute(_RECOVERED, endpoint_id=endpoint_id, **healthy)
        await spread(ctx, endpoint_id)  # defence: WH9 drain
    else:
        stale = ctx.now - _SUCCESS_EXACT_TO
        await ctx.db.execute(_SUCCEEDED, endpoint_id=endpoint_id, stale=stale, **healthy)
    await _end(
        ctx, delivery.id, delivery.attempts, DeliveryState.DELIVERED, last_status=status, last_error=None
    )


async def spread(ctx: Context, endpoint_id: str) -> None:
    """Make what has waited for a failing endpoint due bit by bit."""
    await ctx.db.execute(_SPREAD[ctx.db.dialect], of_endpoint=endpoint_id, now=ctx.now)


async def mark_failed(ctx: Context, delivery: LeasedDelivery, failure: Failure) -> bool:
    """Record a failed attempt, and schedule the next one; return whether there is one."""
    outcome = {"last_status": failure.status, "last_error": failure.error}
    reason = await _note_failure(ctx, delivery, failure)
    delay = _next_delay(delivery, failure)
    due = None if delay is None else ctx.now + delay
    if reason is None and due is not None and due < delivery.created_at + LIFETIME:
        claimed = leased_rows.claimed(delivery.id, delivery.attempts)
        await ctx.db.execute(_END, **claimed, next_attempt=due, updated_at=ctx.now, **outcome)
        return True
    if await _end(ctx, delivery.id, delivery.attempts, DeliveryState.FAILED, **outcome):
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
    next_probe = ctx.now + _probe_delay(counted.failures)
    await ctx.db.execute(_NEXT_PROBE, endpoint_id=endpoint_id, next_probe=next_probe)
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
    """Disable an active endpoint; its pending deliveries fail. Only an update to `active` revives it."""
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


async def full_endpoints(ctx: Context, endpoint_ids: Sequence[str]) -> Sequence[str]:
    """Return those of the endpoints for which more deliveries wait than may."""
    return [
        endpoint_id
        for endpoint_id in endpoint_ids
        if await ctx.db.execute(_IS_FULL, of_endpoint=endpoint_id, most=MOST_PENDING)
    ]


async def drop_excess(ctx: Context, endpoint_id: str) -> int:
    """Delete the newest pending deliveries of an endpoint beyond the limit; return their number. Audited once an
    hour."""
    await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=endpoint_id)
    # defence: WH9 bounded
    dropped = len(await ctx.db.execute(_DROP_EXCESS, of_endpoint=endpoint_id, most=MOST_PENDING))
    recent = await ctx.db.execute(_REPORTS, since=ctx.now - REPORT_INTERVAL, now=ctx.now)
    if dropped and all(details.get("endpointId") != endpoint_id for details in recent.scalars()):
        events.backlog_full(ctx, endpoint_id, dropped)
    return dropped


async def _end(ctx: Context, delivery_id: str, attempt: int, state: DeliveryState, **values: Any) -> bool:
    """Set the final state of a claimed delivery; return whether the claim was still valid."""
    ended = await ctx.db.execute(
        _END,
        **leased_rows.claimed(delivery_id, attempt),
        state=state,
        ended_at=ctx.now,
        updated_at=ctx.now,
        **values,
    )
    return bool(ended)
