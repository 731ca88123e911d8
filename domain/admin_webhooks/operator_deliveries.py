"""Manage deliveries of webhooks: for the operator, and for administrators of the service.

No permission is checked. `ctx.caller` is the administrator; None if the operator acts on the command line.
"""

from collections.abc import Mapping, Sequence

from sqlmodel import col

from domain import tokens
from domain.admin_webhooks.errors import (
    DeliveryNotFound,
    EndpointNotActive,
    EndpointNotFound,
    PayloadExpired,
)
from domain.context import Context
from domain.keyset import Ends, Position, place
from domain.webhooks import events, publication
from models.delivery import COUNT_PENDING, FIND_DELIVERY, LIST_DELIVERIES, Delivery, ListedDelivery
from models.statements import is_
from models.webhook_endpoint import FIND_ENDPOINT, LOCK_ENDPOINT, EndpointRow
from models.webhook_event import FIND_PAYLOAD, PAYLOAD


async def count_pending(ctx: Context, endpoint_ids: Sequence[str]) -> Mapping[str, int]:
    """Return how many deliveries of these endpoints are pending, by endpoint; without those that have none."""
    rows = await ctx.db.execute(COUNT_PENDING.where(col(Delivery.endpoint_id).in_(sorted(endpoint_ids))))
    return dict(rows)


async def send_test(ctx: Context, endpoint_id: str, form: str | None = None) -> str:
    """Send the event `webhook.test` to an endpoint; return the id of the delivery.

    `form` is the random text of a form, None without a form: a form that is sent twice sends one event. Raises
    EndpointNotFound, EndpointNotActive.
    """
    row = await _locked_active(ctx, endpoint_id, EndpointNotFound)
    delivery_id = _id_for(form, row.id)
    if delivery_id is not None and await _exists(ctx, delivery_id):  # defence: C8 test-once
        return delivery_id
    return publication.send(ctx, events.TEST, row.id, delivery_id=delivery_id, endpointId=row.id)


def _id_for(form: str | None, *about: str) -> str | None:
    """Return the id of the delivery that a form about these things adds; None without a form."""
    return None if form is None else tokens.digest(" ".join((form, *about))).hex()[:32]


async def _exists(ctx: Context, delivery_id: str) -> bool:
    return bool(await ctx.db.execute(FIND_DELIVERY, delivery_id=delivery_id))


async def list_deliveries(
    ctx: Context, endpoint_id: str, *, state: str | None, before: str | None, limit: int
) -> Sequence[ListedDelivery]:
    """Return at most `limit` deliveries of an endpoint, newest first; with `before`, those older than that delivery.

    Raises EndpointNotFound, DeliveryNotFound.
    """
    if not await ctx.db.execute(FIND_ENDPOINT, endpoint_id=endpoint_id):
        raise EndpointNotFound
    position = None
    if before is not None:
        position = _position(await get_delivery(ctx, endpoint_id, before))
    rows, _ = await page_of_deliveries(ctx, endpoint_id, state=state, before=position, limit=limit)
    return rows


async def page_of_deliveries(
    ctx: Context,
    endpoint_id: str,
    *,
    state: str | None,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> tuple[Sequence[ListedDelivery], Ends]:
    """Return a page of the deliveries of an endpoint, newest first, and its ends.

    The page has the deliveries older than `before`, or those newer than `after`.
    """
    where, (time, id_) = place(before=before, after=after), (col(Delivery.created_at), col(Delivery.id))
    conditions = [is_(Delivery.endpoint_id, "endpoint_id"), *where.conditions(time, id_)]
    if state is not None:
        conditions.append(col(Delivery.state) == state)
    statement = LIST_DELIVERIES.where(*conditions).order_by(*where.order(time, id_)).limit(limit + 1)
    return where.page(await ctx.db.execute(statement, endpoint_id=endpoint_id), limit, _position)


def _position(row: ListedDelivery) -> Position:
    return Position(row.created_at, row.id)


async def get_delivery(ctx: Context, endpoint_id: str, delivery_id: str) -> ListedDelivery:
    """Return a delivery of an endpoint. Raises DeliveryNotFound, also for a delivery of another endpoint."""
    row = await _find_delivery(ctx, delivery_id)
    if row.endpoint_id != endpoint_id:  # defence: WH14 delivery-of-endpoint
        raise DeliveryNotFound
    return row


async def payload_of(ctx: Context, event_id: str) -> str | None:
    """Return the body of the requests that deliver an event; None once it is erased."""
    sealed: bytes | None = (await ctx.db.execute(FIND_PAYLOAD, event_id=event_id)).scalar()
    return None if sealed is None else ctx.cipher.decrypt(PAYLOAD, sealed)


async def redeliver(ctx: Context, delivery_id: str, form: str | None = None) -> str:
    """Send the event of a delivery again, with the same `webhook-id`; return the id of the new delivery.

    `form` is the random text of a form, None without a form: a form that is sent twice sends the event once. Raises
    DeliveryNotFound, PayloadExpired, EndpointNotActive.
    """
    past = await _find_delivery(ctx, delivery_id)
    row = await _locked_active(ctx, past.endpoint_id, DeliveryNotFound)
    new_id = _id_for(form, row.id, past.id)
    if new_id is not None and await _exists(ctx, new_id):  # defence: C8 redelivered-once
        return new_id
    if not past.has_payload:
        raise PayloadExpired
    events.redelivered(ctx, row.id, past.event_id, by_operator=ctx.is_operator)
    return publication.add_delivery(ctx, past.event_id, row.id, new_id)


async def _find_delivery(ctx: Context, delivery_id: str) -> ListedDelivery:
    row: ListedDelivery | None = (await ctx.db.execute(FIND_DELIVERY, delivery_id=delivery_id)).first()
    if row is None:
        raise DeliveryNotFound
    return row


async def _locked_active(
    ctx: Context, endpoint_id: str, missing: type[EndpointNotFound | DeliveryNotFound]
) -> EndpointRow:
    row: EndpointRow | None = (await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=endpoint_id)).first()
    if row is None:
        raise missing
    if not row.is_active:
        raise EndpointNotActive
    return row
