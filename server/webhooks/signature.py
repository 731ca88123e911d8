"""Sign and verify requests of webhooks, as Standard Webhooks 1.0 defines."""

import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from standardwebhooks import Webhook

from domain.webhooks.secrets import is_secret

USER_AGENT = "Gatewright-Webhooks/1"

TOLERANCE = timedelta(minutes=5)
"""The greatest age of a request that receivers accept."""

_REQUIRED = ("webhook-id", "webhook-timestamp", "webhook-signature")


def headers(event_id: str, secrets: Sequence[str], body: str, now: datetime) -> Mapping[str, str]:
    """Return the headers of a request that is sent at `now` (UTC), with one signature for each secret."""
    message_id = f"msg_{event_id}"
    # The library takes the time for UTC whatever its time zone is.
    # defence: WH7 signatures
    signatures = [Webhook(secret).sign(message_id, now, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "user-agent": USER_AGENT,
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def verify(request: bytes, secret: str) -> datetime:
    """Verify the signature of a captured request; return when the request was sent.

    `request` has the headers, an empty line and the body as it was received. Its age is not checked. Raises ValueError
    with a sentence that says what is wrong.
    """
    if not is_secret(secret):
        raise ValueError("the secret is not whsec_ and the standard base64 of 24 to 64 bytes")
    sent, body = _parts(request)
    if missing := [name for name in _REQUIRED if not sent.get(name)]:
        raise ValueError(f"the request has no header {', '.join(missing)}")
    try:
        sent_at = datetime.fromtimestamp(int(sent["webhook-timestamp"]), UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError("webhook-timestamp is not a number of seconds") from None
    signatures = [one for one in sent["webhook-signature"].split(" ") if one.startswith("v1,")]
    if not signatures:
        raise ValueError("webhook-signature has no signature of the version v1")
    expected = Webhook(secret).sign(sent["webhook-id"], sent_at, body)
    if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in signatures):
        raise ValueError(
            "none was made with this secret, for this webhook-id, webhook-timestamp and body;"
            " the body must be the bytes that were received, without a newline at the end, not JSON that was parsed"
            " and written again"
        )
    return sent_at


def _parts(request: bytes) -> tuple[Mapping[str, str], str]:
    """Return the headers of a request, by name in lower case, and its body. Raises ValueError."""
    ends = [(request.find(end), end) for end in (b"\r\n\r\n", b"\n\n") if end in request]
    if not ends:
        raise ValueError("there is no empty line between the headers and the body")
    at, end = min(ends)
    try:
        head, body = request[:at].decode(), request[at + len(end) :].decode()
    except UnicodeDecodeError:
        raise ValueError("the request is not UTF-8") from None
    lines = [line.partition(":") for line in head.splitlines()]
    return {name.strip().lower(): value.strip() for name, _, value in lines}, body
