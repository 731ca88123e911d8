"""Read the requests of webhooks: verify the signature of the bytes that arrived, and parse the event."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from standardwebhooks import Webhook, WebhookVerificationError

from ..webhooks import WebhookEvent, parse_event
from .errors import ApiError, Unauthenticated

LARGEST = 64 * 1024
"""Bytes of a body. Events are smaller."""
TOO_LARGE = 413


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that has arrived.

    The same event may arrive again, under the same `id`. `event` is None if its `type` is newer than this client.
    """

    id: str
    type: str
    body: bytes
    event: WebhookEvent | None


class WebhookReceiver:
    """Verifies the requests of one endpoint with its secret, `whsec_…`."""

    def __init__(self, secret: str) -> None:
        self._webhook = Webhook(secret)

    def read(self, body: bytes, headers: Mapping[str, str]) -> Delivery:
        """Return the event of a request.

        Raises Unauthenticated unless the signature is right and at most five minutes old, and ApiError with the status
        413 for a body of more than LARGEST bytes.
        """
        if len(body) > LARGEST:
            raise too_large()
        try:
            self._webhook.verify(body, dict(headers), json_parse=False)
        except (WebhookVerificationError, ValueError):  # A malformed signature is a ValueError.
            raise Unauthenticated("INVALID_SIGNATURE", "The signature is not valid") from None
        event = json.loads(body)
        identifier = next(value for name, value in headers.items() if name.lower() == "webhook-id")
        return Delivery(identifier, event["type"], body, parse_event(event))


def too_large() -> ApiError:
    """Return the error for a body of more than LARGEST bytes."""
    return ApiError("PAYLOAD_TOO_LARGE", "The body is too large", status=TOO_LARGE)
