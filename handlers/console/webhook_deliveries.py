"""Deliveries of webhooks: the page of one delivery, and the buttons that send a test event or an event again."""

import json
from collections.abc import Mapping
from typing import Any

from domain import tokens
from domain.admin_webhooks import deliveries, endpoints
from domain.context import Context
from domain.localization import N_
from domain.webhooks.policy import WebhookPolicy
from handlers import shapes
from handlers.console import layout
from handlers.console.view import ConsoleView, view
from handlers.console.webhooks import words
from handlers.responses.reply import Page, Redirect
from models.delivery import DeliveryError, DeliveryState

NOTICES = {
    "test-sent": N_("The test event is on its way. Load this page again to see what became of it."),
    "event-sent-again": N_("The event is on its way again. Load this page again to see what became of it."),
}
STATES = {
    DeliveryState.PENDING.value: N_("Pending"),
    DeliveryState.DELIVERED.value: N_("Delivered"),
    DeliveryState.FAILED.value: N_("Failed"),
    DeliveryState.CANCELLED.value: N_("Canceled"),
}
REASONS = {
    DeliveryError.DNS.value: N_("The host name has no address"),
    DeliveryError.REFUSED_ADDRESS.value: N_("The address is not allowed"),
    DeliveryError.CONNECT.value: N_("No connection"),
    DeliveryError.TLS.value: N_("TLS failed, or the certificate is not valid"),
    DeliveryError.TIMEOUT.value: N_("No response in time"),
    DeliveryError.TOO_SLOW.value: N_("The response took too long"),
    DeliveryError.STATUS.value: N_("The status is no success"),
    DeliveryError.REDIRECT.value: N_("Redirects are not followed"),
    DeliveryError.EXPIRED.value: N_("The event was too old"),
    DeliveryError.DISABLED.value: N_("The endpoint was disabled"),
}
"""Why an attempt failed: texts by the value of `DeliveryError`."""


def delivery_words(here: ConsoleView) -> Mapping[str, Any]:
    """Return the translated labels with which templates describe deliveries."""
    gettext = here.localization.gettext
    return {
        "delivery_states": {name: gettext(text) for name, text in STATES.items()},
        "reasons": {name: gettext(text) for name, text in REASONS.items()},
    }


# console.webhook_deliveries.show
async def show(ctx: Context, id_: str, delivery_id: str, ui_locales: str | None = None) -> Page:
    """Show a delivery, with the content of its event unless it was erased."""
    endpoint = await endpoints.get(ctx, id_)
    row, payload = await deliveries.get(ctx, endpoint.id, delivery_id)
    here = view(ctx, _page_of(endpoint.id, row.id), ui_locales)
    return layout.render(
        ctx,
        here,
        "webhook/delivery.html",
        endpoint=endpoint,
        delivery=row,
        payload=payload and json.dumps(json.loads(payload), ensure_ascii=False, indent=2),
        retention=ctx.policy[WebhookPolicy].payload_retention,
        once=tokens.token(),
        **words(here),
        **delivery_words(here),
    )


def _page_of(endpoint_id: str, delivery_id: str) -> str:
    return f"/webhooks/{endpoint_id}/deliveries/{delivery_id}"


# console.webhook_deliveries.send_test
async def send_test(ctx: Context, id_: str, body: shapes.ConsoleSendForm) -> Redirect:
    """Send a test event, and redirect to its delivery."""
    here = view(ctx)
    new = await deliveries.send_test(ctx, id_, body["once"])
    return layout.done(ctx, here, _page_of(id_, new), "test-sent")


# console.webhook_deliveries.redeliver
async def redeliver(ctx: Context, id_: str, delivery_id: str, body: shapes.ConsoleSendForm) -> Redirect:
    """Send the event of a delivery again, and redirect to the new delivery."""
    here = view(ctx)
    row, _ = await deliveries.get(ctx, id_, delivery_id)
    new = await deliveries.redeliver(ctx, row.id, body["once"])
    return layout.done(ctx, here, _page_of(id_, new), "event-sent-again")
