"""Limit the number of deliveries that wait for an endpoint by deleting the newest ones."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Integer, bindparam, delete, select
from sqlmodel import col

from domain.context import Context
from domain.webhooks import events
from domain.webhooks.deliveries import IS_PENDING, OF_ENDPOINT
from models import Audit
from models.base import Instant
from models.delivery import Delivery
from models.statements import table_of
from models.webhook_endpoint import LOCK_ENDPOINT

MOST_PENDING = 10_000
"""The most deliveries that may wait for one endpoint; newer ones are deleted."""

REPORT_INTERVAL = timedelta(hours=1)
"""The least time between two audit records that deliveries of an endpoint were dropped."""

_OLDEST_FIRST = (
    select(col(Delivery.id))
    .where(OF_ENDPOINT, IS_PENDING)
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
    .where(OF_ENDPOINT, IS_PENDING)
    .order_by(col(Delivery.next_attempt))
    .offset(bindparam("most", type_=Integer()))
    .limit(1)
)
_REPORTS = select(col(Audit.details)).where(
    col(Audit.event) == events.BACKLOG_FULL.name,
    col(Audit.time) > bindparam("since", type_=Instant()),
    col(Audit.time) <= bindparam("now", type_=Instant()),
)


async def full_endpoints(ctx: Context, endpoint_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of those endpoints for which more than MOST_PENDING deliveries wait."""
    return [
        endpoint_id
        for endpoint_id in endpoint_ids
        if await ctx.db.execute(_IS_FULL, of_endpoint=endpoint_id, most=MOST_PENDING)
    ]


async def drop_excess(ctx: Context, endpoint_id: str) -> int:
    """Delete the newest pending deliveries of an endpoint beyond the limit; return their number.

    At most one audit record an hour is written for an endpoint.
    """
    await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=endpoint_id)
    # defence: WH9 bounded
    dropped = len(await ctx.db.execute(_DROP_EXCESS, of_endpoint=endpoint_id, most=MOST_PENDING))
    recent = await ctx.db.execute(_REPORTS, since=ctx.now - REPORT_INTERVAL, now=ctx.now)
    if dropped and all(details.get("endpointId") != endpoint_id for details in recent.scalars()):
        events.backlog_full(ctx, endpoint_id, dropped)
    return dropped
