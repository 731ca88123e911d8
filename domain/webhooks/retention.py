"""Erase the content of events whose deliveries have ended; the rows themselves are deleted as their tables declare."""

from sqlalchemy import Integer, bindparam, exists, or_, select, update
from sqlmodel import col

from domain.context import Context
from domain.webhooks.policy import WebhookPolicy
from models.base import Instant
from models.delivery import Delivery, DeliveryState
from models.statements import table_of
from models.webhook_event import WebhookEvent

BATCH = 1000
"""Events of one transaction, so that deliveries do not wait for it."""

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


async def erase_payloads(ctx: Context) -> int:
    """Erase the content of events whose last delivery ended `webhooks.payload_retention` ago; return how many of a
    batch were."""
    before = ctx.now - ctx.policy[WebhookPolicy].payload_retention
    return len(await ctx.db.execute(_ERASE, before=before, most=BATCH, updated_at=ctx.now))
