"""List deliveries of webhooks, send test events, and send events again, for administrators of the service."""

from collections.abc import Sequence
from datetime import timedelta

from domain.admin_webhooks import endpoints, operator_deliveries
from domain.admin_webhooks.endpoints import require
from domain.context import Context
from domain.keyset import Ends, Position
from domain.rate_limits import limits
from domain.rate_limits.policy import Quota
from models.delivery import ListedDelivery

TESTS = Quota(10, timedelta(minutes=1))
"""How many test events one administrator can send in which time."""


async def send_test(ctx: Context, endpoint_id: str, form: str | None = None) -> str:
    """Send a test event to an endpoint; return the id of the delivery.

    `form` is the random text of a form, None without a form: a form that is sent twice sends one event. Raises
    YouAreNotAllowedToManageService, TwoFactorRequired, Limited, EndpointNotFound, EndpointNotActive.
    """
    require(ctx)
    await limits.check_quota(ctx, "webhook_tests", ctx.signed_in.user.id, TESTS)
    return await operator_deliveries.send_test(ctx, endpoint_id, form)


async def list_all(
    ctx: Context, endpoint_id: str, *, state: str | None, before: str | None, limit: int
) -> Sequence[ListedDelivery]:
    """Return at most `limit` deliveries of an endpoint, newest first; with `before`, those older than that delivery.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, EndpointNotFound, DeliveryNotFound.
    """
    require(ctx)
    return await operator_deliveries.list_deliveries(
        ctx, endpoint_id, state=state, before=before, limit=limit
    )


async def get_page(
    ctx: Context,
    endpoint_id: str,
    *,
    state: str | None,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> tuple[Sequence[ListedDelivery], Ends]:
    """Return a page of the deliveries of an endpoint, newest first, and its ends.

    The page has the deliveries older than `before`, or those newer than `after`. Raises
    YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    require(ctx)
    return await operator_deliveries.page_of_deliveries(
        ctx, endpoint_id, state=state, before=before, after=after, limit=limit
    )


async def get(ctx: Context, endpoint_id: str, delivery_id: str) -> tuple[ListedDelivery, str | None]:
    """Return a delivery of an endpoint, and the body of its requests, None once that is erased.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, EndpointNotFound, DeliveryNotFound.
    """
    row = await operator_deliveries.get_delivery(ctx, (await endpoints.get(ctx, endpoint_id)).id, delivery_id)
    return row, await operator_deliveries.payload_of(ctx, row.event_id)


async def redeliver(ctx: Context, delivery_id: str, form: str | None = None) -> str:
    """Send the event of a delivery again; return the id of the new delivery.

    `form` is the random text of a form, None without a form: a form that is sent twice sends the event once. Raises
    YouAreNotAllowedToManageService, TwoFactorRequired, DeliveryNotFound, PayloadExpired, EndpointNotActive.
    """
    require(ctx)
    return await operator_deliveries.redeliver(ctx, delivery_id, form)
