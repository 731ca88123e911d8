"""Find endpoints with due deliveries, and claim deliveries for this instance with a lease."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlmodel import col

from domain.context import Context
from domain.webhooks import deliveries, events
from domain.webhooks.deliveries import IS_ACTIVE, IS_PENDING, OF_ENDPOINT, LeasedDelivery
from domain.webhooks.secrets import is_secret
from models import leased_rows
from models.base import Instant
from models.delivery import Delivery, DeliveryError, DeliveryState
from models.statements import is_, table_of
from models.webhook_endpoint import (
    ENDPOINT_COLUMNS,
    PREVIOUS_SECRET,
    SECRET,
    EndpointRow,
    WebhookEndpoint,
)
from models.webhook_event import LIFETIME, PAYLOAD, WebhookEvent

LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class DueEndpoint:
    """An active endpoint, and the time at which its next delivery may be attempted; None if none is pending."""

    row: EndpointRow
    due: datetime | None


_FIRST_DUE = (
    select(col(Delivery.next_attempt))
    .where(col(Delivery.endpoint_id) == col(WebhookEndpoint.id), IS_PENDING)
    .order_by(col(Delivery.next_attempt))
    .limit(1)
    .scalar_subquery()
)
_DUE_ENDPOINTS = (
    select(*ENDPOINT_COLUMNS, _FIRST_DUE.label("due")).where(IS_ACTIVE).order_by(col(WebhookEndpoint.id))
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
    OF_ENDPOINT,
    IS_PENDING,
    returning=[col(getattr(Delivery, name)) for name in ("id", "event_id", "attempts", "created_at")],
)
_PAYLOADS = select(col(WebhookEvent.id), col(WebhookEvent.payload))
_EXPIRE = (
    update(table_of(Delivery))
    .where(
        col(Delivery.id).in_(
            select(col(Delivery.id))
            .where(OF_ENDPOINT, IS_PENDING, col(Delivery.created_at) <= bindparam("oldest", type_=Instant()))
            .limit(1000)
        )
    )
    .returning(col(Delivery.event_id))
)


async def due_endpoints(ctx: Context) -> Sequence[DueEndpoint]:
    """Return all active endpoints, each with the time of its next attempt; None without pending deliveries."""
    return [_due_endpoint(row) for row in await ctx.db.execute(_DUE_ENDPOINTS)]


def _due_endpoint(row: Sequence[Any]) -> DueEndpoint:
    endpoint, due = EndpointRow._make(row[:-1]), row[-1]
    if due is not None and endpoint.next_probe is not None:
        due = max(due, endpoint.next_probe)
    return DueEndpoint(endpoint, due)


async def claim(
    ctx: Context, endpoints: Mapping[str, int], due: Sequence[DueEndpoint]
) -> list[LeasedDelivery]:
    """Claim due deliveries; return those to attempt.

    `endpoints` is the most deliveries by endpoint id; endpoints in `due` without a number are skipped. Deliveries that
    have expired or whose content was erased end here, and an endpoint without a usable secret is disabled.
    """
    claimed = [
        (one.row, row)
        for one in due
        if one.row.id in endpoints
        for row in await _claim_of(ctx, one.row, endpoints[one.row.id])
    ]
    payloads = await _payloads(ctx, {row.event_id for _, row in claimed})
    leased: list[LeasedDelivery] = []
    for endpoint, row in claimed:
        body, secrets = payloads.get(row.event_id), live_secrets(ctx, endpoint)
        if not secrets:
            await deliveries.disable(ctx, endpoint.id, "secret")
        elif body is None:
            await deliveries.end(ctx, row.id, row.attempts, DeliveryState.CANCELLED)
        elif row.created_at + LIFETIME <= ctx.now:
            await deliveries.end(
                ctx, row.id, row.attempts, DeliveryState.FAILED, last_error=DeliveryError.EXPIRED
            )
            events.delivery_failed(ctx, endpoint.id, row.event_id, DeliveryError.EXPIRED)
        else:
            leased.append(
                LeasedDelivery(row.id, row.event_id, endpoint, row.attempts, row.created_at, body, secrets)
            )
    attempted = {delivery.endpoint.id for delivery in leased}
    for endpoint, _ in claimed:
        if endpoint.next_probe is not None and endpoint.id not in attempted:
            # Its probe is the next delivery, without the wait for the end of a lease.
            await deliveries.probe_at(ctx, endpoint.id, ctx.now)
    return leased


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
    """Return the secrets of an endpoint that sign requests now, the newest first.

    The previous one is included until it expires. Empty if the newest secret cannot be decrypted or is malformed.
    """
    newest = ctx.cipher.decrypt(SECRET, endpoint.secret)
    # The library signs with an empty key, too.
    if newest is None or not is_secret(newest):
        return ()
    sealed, until = endpoint.previous_secret, endpoint.previous_until
    is_live = sealed is not None and until is not None and ctx.now < until  # defence: WH7 overlap
    previous = ctx.cipher.decrypt(PREVIOUS_SECRET, sealed) if is_live and sealed is not None else None
    return (newest,) if previous is None or not is_secret(previous) else (newest, previous)
