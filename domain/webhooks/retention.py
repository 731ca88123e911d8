"""End deliveries that have waited too long, and erase the content of events whose deliveries have ended.

The rows themselves are deleted as their tables declare.
"""

from sqlalchemy import Integer, bindparam, exists, or_, select, update
from sqlmodel import col

from domain.context import Context
from domain.webhooks import events
from domain.webhooks.policy import WebhookPolicy
from models.base import Instant
from models.delivery import Delivery, DeliveryError, DeliveryState
from models.statements import table_of
from models.webhook_event import LIFETIME, WebhookEvent

BATCH = 1000
"""The most rows that one transaction changes, so that deliveries need not wait long for it."""

_OLDEST = bindparam("oldest", type_=Instant())
_WAITING = (
    select(col(Delivery.id))
    .join(WebhookEvent, col(Delivery.event_id) == col(WebhookEvent.id))
    .where(
        # Found by the index of events with content: those of past deliveries have none.
        col(WebhookEvent.payload).is_not(None),
        col(WebhookEvent.created_at) <= _OLDEST,
        col(Delivery.created_at) <= _OLDEST,
        col(Delivery.state) == DeliveryState.PENDING.value,
    )
    .limit(bindparam("most", type_=Integer()))
)
_EXPIRE = (
    update(table_of(Delivery))
    .where(col(Delivery.id).in_(_WAITING))
    .returning(col(Delivery.endpoint_id), col(Delivery.event_id))
    .execution_options(in_thread=True)
)
_KEEPS = exists().where(
    col(Delivery.event_id) == col(WebhookEvent.id),
    or_(
        col(Delivery.state) == DeliveryState.PENDING.value,
        col(Delivery.ended_at) > bindparam("before", type_=Instant()),
    ),
)
_ENDED = (
    select(col(WebhookEvent.id))
    .where(
        col(WebhookEvent.payload).is_not(None),
        col(WebhookEvent.created_at) <= bindparam("before", type_=Instant()),
        ~_KEEPS,
    )
    .order_by(col(WebhookEvent.created_at))
    .limit(bindparam("most", type_=Integer()))
)
_ERASE = (
    update(table_of(WebhookEvent))
    .where(col(WebhookEvent.id).in_(_ENDED))
    .values(payload=None)
    .returning(col(WebhookEvent.id))
    .execution_options(in_thread=True)
)


async def expire_waiting(ctx: Context) -> int:
    """Fail at most BATCH deliveries that have waited too long; return their number.

    This is needed for endpoints that are paused, disabled or deleted, at which no attempt is made that would do it.
    """
    ended = await ctx.db.execute(
        _EXPIRE,
        oldest=ctx.now - LIFETIME,
        most=BATCH,
        state=DeliveryState.FAILED,
        last_error=DeliveryError.EXPIRED,
        ended_at=ctx.now,
        updated_at=ctx.now,
    )
    for row in ended:
        events.delivery_failed(ctx, row.endpoint_id, row.event_id, DeliveryError.EXPIRED)
    return len(ended)


async def erase_payloads(ctx: Context) -> int:
    """Erase the content of events whose last delivery ended at least `webhooks.payload_retention` ago.

    At most BATCH events are changed; return their number.
    """
    before = ctx.now - ctx.policy[WebhookPolicy].payload_retention
    return len(await ctx.db.execute(_ERASE, before=before, most=BATCH, updated_at=ctx.now))
