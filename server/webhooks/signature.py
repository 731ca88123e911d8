"""The headers of a request, as Standard Webhooks 1.0 defines them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from standardwebhooks import Webhook

USER_AGENT = "Gatewright-Webhooks/1"


def headers(event_id: str, secrets: Sequence[str], body: str, now: datetime) -> Mapping[str, str]:
    """Return the headers of an attempt at `now`, a time in UTC, signed with every secret."""
    message_id = f"msg_{event_id}"
    # The library takes the time for UTC whatever its time zone is.
    signatures = [Webhook(secret).sign(message_id, now, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
