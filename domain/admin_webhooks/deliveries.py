"""Deliveries, for administrators of the service."""

from collections.abc import Sequence
from datetime import timedelta

from domain.admin_webhooks import operator
from domain.admin_webhooks.endpoints import require
from domain.context import Context
from domain.rate_limits import limits
from domain.rate_limits.policy import Quota
from models.delivery import ListedDelivery

TESTS = Quota(10, timedelta(minutes=1))
"""The test events that one administrator can send."""


async def send_test(ctx: Context, endpoint_id: str) -> str:
    """Send a test event to an endpoint; return the id of the delivery.

    Raises the errors of `endpoints.require` and `operator.send_test`, and Limited.
    """
    require(ctx)
    await limits.check_quota(ctx, "webhook_tests", ctx.signed_in.user.id, TESTS)
    return await operator.send_test(ctx, endpoint_id)


async def list_all(
    ctx: Context, endpoint_id: str, *, state: str | None, before: str | None, limit: int
) -> Sequence[ListedDelivery]:
    """Return the deliveries of an endpoint, newest first.

    Raises the errors of `endpoints.require` and `operator.list_deliveries`.
    """
    require(ctx)
    return await operator.list_deliveries(ctx, endpoint_id, state=state, before=before, limit=limit)


async def redeliver(ctx: Context, delivery_id: str) -> str:
    """Send the event of a delivery again; return the id of the new delivery.

    Raises the errors of `endpoints.require` and `operator.redeliver`.
    """
    require(ctx)
    return await operator.redeliver(ctx, delivery_id)
