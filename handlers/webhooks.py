"""The operations of openapi/paths/webhooks.yaml: webhook endpoints, and the deliveries of events to them."""

from collections.abc import Sequence
from typing import cast

from domain.admin_webhooks import deliveries as past
from domain.admin_webhooks import endpoints
from domain.context import Context
from handlers import shapes, wire
from models.delivery import DeliveryState, ListedDelivery
from models.webhook_endpoint import EndpointRow


# webhooks.create
async def create(ctx: Context, body: shapes.CreateWebhookEndpointRequest) -> shapes.CreatedWebhookEndpoint:
    """Create an endpoint."""
    row, secret = await endpoints.create(ctx, {**body}, body.get("secret"))
    return {"endpoint": endpoint_shape(row, 0), "secret": secret}


# webhooks.list
async def list(ctx: Context) -> Sequence[shapes.WebhookEndpoint]:  # noqa: A001 - the name of the operation
    """Return all endpoints."""
    rows = await endpoints.list_all(ctx)
    pending = await endpoints.count_pending(ctx, rows)
    return [endpoint_shape(row, pending.get(row.id, 0)) for row in rows]


# webhooks.update
async def update(ctx: Context, body: shapes.UpdateWebhookEndpointRequest) -> shapes.OneWebhookEndpoint:
    """Change an endpoint."""
    row = await endpoints.update(ctx, body["id"], {**body})
    pending = await endpoints.count_pending(ctx, [row])
    return {"endpoint": endpoint_shape(row, pending.get(row.id, 0))}


# webhooks.remove
async def remove(ctx: Context, body: shapes.DeleteWebhookEndpointRequest) -> shapes.DeletedWebhookEndpoint:
    """Delete an endpoint."""
    await endpoints.remove(ctx, body["id"])
    return {"success": True}


# webhooks.rotate_secret
async def rotate_secret(ctx: Context, body: shapes.RotateWebhookSecretRequest) -> shapes.RotatedWebhookSecret:
    """Replace the secret of an endpoint; return the new secret, and until when the previous one signs as well."""
    secret, until = await endpoints.rotate_secret(ctx, body["id"], body.get("secret"))
    return {"secret": secret, "previousUntil": wire.optional_instant(until)}


# webhooks.send_test
async def send_test(ctx: Context, body: shapes.SendTestWebhookRequest) -> shapes.QueuedDelivery:
    """Send a test event to an endpoint."""
    return {"deliveryId": await past.send_test(ctx, body["id"])}


# webhooks.deliveries
async def deliveries(
    ctx: Context,
    endpoint_id: str,
    state: str | None = None,
    before: str | None = None,
    limit: int | None = None,
) -> shapes.DeliveryPage:
    """Return a page of the deliveries of an endpoint, newest first, that are older than the delivery `before`."""
    rows = await past.list_all(
        ctx, endpoint_id, state=state, before=before, limit=50 if limit is None else limit
    )
    return {"deliveries": [delivery_shape(row) for row in rows]}


# webhooks.get_delivery
async def get_delivery(ctx: Context, endpoint_id: str, delivery_id: str) -> shapes.DeliveryWithPayload:
    """Return a delivery of an endpoint, with its content."""
    row, payload = await past.get(ctx, endpoint_id, delivery_id)
    return {"delivery": delivery_shape(row), "payload": payload}


# webhooks.redeliver
async def redeliver(ctx: Context, body: shapes.RedeliverRequest) -> shapes.QueuedDelivery:
    """Send the event of a delivery again."""
    return {"deliveryId": await past.redeliver(ctx, body["deliveryId"])}


def endpoint_shape(row: EndpointRow, pending: int) -> shapes.WebhookEndpoint:
    """Return an endpoint in the form of API responses, without its secrets.

    `pending` is the number of its deliveries that have not ended.
    """
    shape = {
        "id": row.id,
        "name": row.name,
        "url": row.url,
        "description": row.description,
        "events": [*row.subscriptions],
        "state": row.state,
        "source": row.source,
        "failingSince": wire.optional_instant(row.failing_since),
        "lastSuccessAt": wire.optional_instant(row.last_success_at),
        "pending": pending,
        "createdAt": wire.instant(row.created_at),
        "updatedAt": wire.instant(row.updated_at),
    }
    return cast(shapes.WebhookEndpoint, shape)


def delivery_shape(row: ListedDelivery) -> shapes.Delivery:
    """Return a delivery in the form of API responses."""
    shape = {
        "id": row.id,
        "eventId": row.event_id,
        "type": row.type,
        "state": row.state,
        "attempts": row.attempts,
        "lastStatus": row.last_status,
        "lastError": row.last_error,
        "nextAttempt": wire.instant(row.next_attempt) if row.state == DeliveryState.PENDING else None,
        "createdAt": wire.instant(row.created_at),
        "deliveredAt": wire.optional_instant(row.ended_at) if row.state == DeliveryState.DELIVERED else None,
    }
    return cast(shapes.Delivery, shape)
