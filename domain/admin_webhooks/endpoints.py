"""Endpoints, for administrators of the service."""

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
    """Create an endpoint; return it and its secret. Raises the errors of `require` and `operator.create`."""
    require(ctx, fresh=True)  # defence: WH14 fresh-create
    return await operator.create(ctx, sent, secret, EndpointSource.OPERATION, seen=seen)


async def list_all(ctx: Context) -> Sequence[EndpointRow]:
    """Return all endpoints, the oldest first. Raises the errors of `require`."""
    require(ctx)
    return await operator.list_endpoints(ctx)


async def get(ctx: Context, endpoint_id: str, *, fresh: bool = False) -> EndpointRow:
    """Return an endpoint. Raises EndpointNotFound, and the errors of `require`."""
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
    """Change the fields of an endpoint that are present. Raises the errors of `require` and `operator.update`."""
    require(ctx, fresh=True)  # defence: WH14 fresh-update
    return await operator.update(ctx, endpoint_id, sent, seen=seen)


async def remove(ctx: Context, endpoint_id: str) -> EndpointRow:
    """Delete an endpoint. Raises the errors of `require` and `operator.remove`."""
    require(ctx, fresh=True)  # defence: WH14 fresh-delete
    return await operator.remove(ctx, endpoint_id)


async def rotate_secret(
    ctx: Context, endpoint_id: str, secret: str | None, *, seen: str | None = None
) -> tuple[str, datetime | None]:
    """Replace the secret of an endpoint; return the new one, and until when the old one signs, too.

    Raises the errors of `require` and `operator.rotate_secret`.
    """
    require(ctx, fresh=True)  # defence: WH14 fresh-rotate
    return await operator.rotate_secret(ctx, endpoint_id, secret, seen=seen)
