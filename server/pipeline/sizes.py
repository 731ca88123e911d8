"""What a request may be before anybody looks into it: of which size (behaviour 1.3, step 2), for which host."""

from starlette.types import Scope

from domain import errors
from server.pipeline.head import Head

MAX_TARGET = 8 * 1024
"""Bytes of path and query as sent."""

MAX_HEADERS = 16 * 1024
"""Bytes of all header lines as sent."""


def check(scope: Scope, head: Head, max_body: int) -> None:
    """Refuse what says itself that it is too large. Raises UriTooLong, HeadersTooLarge, PayloadTooLarge.

    Raises BadRequest when it does not name exactly one host (RFC 9112, 3.2).
    """
    if scope["http_version"] == "1.1" and not head.occurs_once(b"host"):
        raise errors.BadRequest("Invalid HTTP request")
    query = scope["query_string"]
    target = len(scope.get("raw_path") or scope["path"]) + (len(query) + 1 if query else 0)
    if target > MAX_TARGET:
        raise errors.UriTooLong
    if head.size() > MAX_HEADERS:
        raise errors.HeadersTooLarge
    announced = head.fields.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > max_body:
        raise errors.PayloadTooLarge
