"""Create, list, change and delete webhook endpoints, for administrators of the service."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.admin_webhooks import operator, operator_deliveries
from domain.admin_webhooks.errors import EndpointNotFound
from domain.context import Context
from models.webhook_endpoint import FIND_ENDPOINT, EndpointRow, EndpointSource


def require(ctx: Context, *, fresh: bool = False) -> None:
    """Check that the caller may manage webhooks.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh.
    """
    # defence: WH14 permission
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService, fresh=fresh)


async def create(
    ctx: Context, sent: Mapping[str, Any], secret: str | None, *, seen: str | None = None
) -> tuple[EndpointRow, str]:
    """Create an endpoint with the fields `sent`; return the endpoint and its secret, a new one if `secret` is None.

    `seen` is the `operator.state_of` the list that a form was shown with, None without a form.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, ValidationError, UnknownEvent,
    InvalidWebhookUrl, StaleEndpoint, TooManyEndpoints.
    """
    require(ctx, fresh=True)  # defence: WH14 fresh-create
    return await operator.create(ctx, sent, secret, EndpointSource.OPERATION, seen=seen)


async def list_all(ctx: Context) -> Sequence[EndpointRow]:
    """Return all endpoints, the oldest first. Raises YouAreNotAllowedToManageService, TwoFactorRequired."""
    require(ctx)
    return await operator.list_endpoints(ctx)


async def get(ctx: Context, endpoint_id: str, *, fresh: bool = False) -> EndpointRow:
    """Return an endpoint; with `fresh`, the session must be fresh.

    Raises EndpointNotFound, YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh.
    """
    require(ctx, fresh=fresh)
    row: EndpointRow | None = (await ctx.db.execute(FIND_ENDPOINT, endpoint_id=endpoint_id)).first()
    if row is None:
        raise EndpointNotFound
    return row


async def count_pending(ctx: Context, rows: Sequence[EndpointRow]) -> Mapping[str, int]:
    """Return how many deliveries of these endpoints are pending, by endpoint; without those that have none."""
    return await operator_deliveries.count_pending(ctx, [row.id for row in rows])


async def update(
    ctx: Context, endpoint_id: str, sent: Mapping[str, Any], *, seen: str | None = None
) -> EndpointRow:
    """Change the fields of an endpoint that are present in `sent`; return the endpoint.

    `seen` is the `operator.version` that a form was shown with, None without a form.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, ValidationError, UnknownEvent,
    InvalidWebhookUrl, EndpointNotFound, EndpointReadOnly, StaleEndpoint.
    """
    require(ctx, fresh=True)  # defence: WH14 fresh-update
    return await operator.update(ctx, endpoint_id, sent, seen=seen)


async def remove(ctx: Context, endpoint_id: str) -> EndpointRow:
    """Delete an endpoint, and cancel its pending deliveries; return the endpoint.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, EndpointNotFound, EndpointReadOnly.
    """
    require(ctx, fresh=True)  # defence: WH14 fresh-delete
    return await operator.remove(ctx, endpoint_id)


async def rotate_secret(
    ctx: Context, endpoint_id: str, secret: str | None, *, seen: str | None = None
) -> tuple[str, datetime | None]:
    """Replace the secret of an endpoint by `secret`, or by a random one (None).

    Returns the new secret, and until when the old one signs as well, None if it does not. `seen` is the
    `operator.version` that a form was shown with, None without a form.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SessionNotFresh, ValidationError, EndpointNotFound,
    EndpointReadOnly, StaleEndpoint.
    """
    require(ctx, fresh=True)  # defence: WH14 fresh-rotate
    return await operator.rotate_secret(ctx, endpoint_id, secret, seen=seen)
