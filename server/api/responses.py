"""Responses: the status, headers and body of a handler's result, and the ASGI messages that send them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypedDict

import orjson
from starlette.types import Receive, Scope, Send

from domain.errors import Refusal
from handlers.responses import cookies
from handlers.responses.reply import (
    Document,
    Download,
    Header,
    NoContent,
    Page,
    Redirect,
    Rendered,
    Reply,
    SamlDocument,
    Stream,
)
from server.api.cors import PREFLIGHT
from server.api.errors import CONTENT_TYPE, ErrorResponse
from server.api.headers import RequestHeaders
from server.database.errors import is_unavailable

DEFAULT_HEADERS: tuple[Header, ...] = (
    # Nearly every response contains a token, or data of one user.
    (b"cache-control", b"no-store"),  # defence: V42 no-store
    (b"x-content-type-options", b"nosniff"),
    # The URL of an emailed link contains its token, which the Referer would hand to other sites.
    (b"referrer-policy", b"no-referrer"),  # defence: M9 referrer
    # The CORS headers depend on the Origin, so a cache must not serve them to another one.
    (b"vary", b"Origin"),
)
"""Headers of every response, errors included; the request id is added."""

PAGE_HEADERS: tuple[Header, ...] = (
    *(header for header in DEFAULT_HEADERS if header[0] != b"referrer-policy"),
    # With no-referrer a browser would send `Origin: null` with our own forms (Fetch, "append a request Origin header").
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), geolocation=(), "
        b"microphone=(), payment=(), usb=()",
    ),
)
"""Headers of every response of a hosted page."""

_PUBLIC_HEADERS = tuple(header for header in DEFAULT_HEADERS if header[0] != b"cache-control")
"""Headers of a document that caches may store; the document itself sets for how long."""

FULL_RESPONSE: Literal["gatewright.whole"] = "gatewright.whole"
"""The ASGI extension of a server that accepts a response in one message, and the type of that message."""


class IncompleteResponseError(Exception):
    """The rest of a response cannot be sent, so the connection has to be closed. `__cause__` is the reason."""


class FullResponse(TypedDict):
    """A response in one message. The server adds Content-Length, and omits the body for HEAD."""

    type: Literal["gatewright.whole"]
    status: int
    always: tuple[Header, ...]
    """Headers that many responses share; the server may cache their encoded form."""
    request_id: bytes
    headers: Sequence[Header]
    """Headers of this response only; usually `JSON`, which is always the same object."""
    body: bytes


JSON: tuple[Header, ...] = (CONTENT_TYPE,)
_SAML: Header = (b"content-type", b"application/samlmetadata+xml")
_HTML: Header = (b"content-type", b"text/html; charset=utf-8")


def answer(result: Any, method: str, head: RequestHeaders) -> ErrorResponse:
    """Return status, headers and body for a handler's result; `method` and `head` are those of the request."""
    if isinstance(result, Reply):
        return result.status, (CONTENT_TYPE, *result.headers), orjson.dumps(result.body)
    if isinstance(result, Redirect):
        # After a POST the browser must use GET, and never post the credentials again (RFC 9110, 15.4.4).
        status = 303 if method == "POST" else result.status  # defence: V62 see-other
        return status, ((b"location", result.location.encode("ascii")), *result.headers), b""
    if isinstance(result, Page):
        return result.status, (_HTML, *result.headers), result.html.encode()
    if isinstance(result, Download | Stream | NoContent | SamlDocument):
        return _other(result)
    if isinstance(result, Document):
        # defence: JWT14 etag
        known = b"if-none-match" in head.fields and is_known(result.etag, head)
        headers = _document_headers(result.etag, result.max_age, has_body=not known)
        return (304, headers, b"") if known else (200, headers, result.body)
    return 200, JSON, result.json if isinstance(result, Rendered) else orjson.dumps(result)


def _other(result: Download | Stream | NoContent | SamlDocument) -> ErrorResponse:
    """Return the response with a file to save, or with no JSON; the body of a stream is sent by `send_stream`."""
    if isinstance(result, NoContent):
        return 204, (), b""
    if isinstance(result, SamlDocument):
        return 200, (_SAML,), result.xml
    named = b"content-disposition", b'attachment; filename="%s"' % result.name.encode("ascii")
    if isinstance(result, Download):
        return 200, (CONTENT_TYPE, named), result.body
    return 200, ((b"content-type", result.content_type), named), b""


@lru_cache(maxsize=16)
def _document_headers(etag: bytes, max_age: int, *, has_body: bool) -> tuple[Header, ...]:
    """Return all headers of a public document except CORS: always the same object, which the server encodes once."""
    kept = ((b"cache-control", b"public, max-age=%d" % max_age), (b"etag", etag))
    return (*_PUBLIC_HEADERS, *kept, CONTENT_TYPE) if has_body else (*_PUBLIC_HEADERS, *kept)


def is_known(etag: bytes, head: RequestHeaders) -> bool:
    """Return whether If-None-Match matches the ETag by weak comparison (RFC 9110, 13.1.2)."""
    listed = b",".join(head.every(b"if-none-match"))
    tags = {tag.strip().removeprefix(b"W/") for tag in listed.split(b",")}
    return etag in tags or b"*" in tags


def options(allow: str, *, is_preflight: bool) -> ErrorResponse:
    """Return the response to OPTIONS with the allowed methods `allow`, and for a preflight with its CORS headers."""
    return 204, ((b"allow", allow.encode()), *(PREFLIGHT if is_preflight else ())), b""


def with_cookies(rendered: ErrorResponse, more: list[Header]) -> ErrorResponse:
    """Return the response with more Set-Cookie headers: the first one for each cookie that it does not set itself."""
    status, headers, body = rendered
    taken = {_cookie_name(value) for name, value in headers if name == b"set-cookie"}
    added: dict[bytes, Header] = {}
    for header in more:
        added.setdefault(_cookie_name(header[1]), header)
    # A response should not set the same cookie twice: clients differ in which header they use (RFC 6265, 4.1.1).
    # defence: V42 one-cookie
    return status, (*headers, *(header for name, header in added.items() if name not in taken)), body


def with_host_only_cookies_cleared(rendered: ErrorResponse) -> ErrorResponse:
    """Return the response so that it also clears the cookie without Domain for each cookie that it sets with a Domain.

    The clearing headers come first: a client that takes both for one cookie uses the last header.
    """
    status, headers, body = rendered
    twins = cookies.clear_host_only_cookies(headers)
    return (status, (*twins, *headers), body) if twins else rendered


def _cookie_name(value: bytes) -> bytes:
    return value.partition(b"=")[0]


def send_answer(
    scope: Scope,
    send: Send,
    rendered: ErrorResponse,
    request_id: str,
    cors: tuple[Header, ...],
    *,
    always: tuple[Header, ...] = DEFAULT_HEADERS,
) -> Awaitable[None]:
    """Send a response with the headers in `always` and `cors`; HEAD gets Content-Length but no body."""
    status, headers, body = rendered
    whole: dict[str, Any] = {
        "type": FULL_RESPONSE,
        "status": status,
        "always": always,
        "request_id": request_id.encode(),
        "headers": (*headers, *cors) if cors else headers,
        "body": body,
    }
    return send(whole) if FULL_RESPONSE in scope.get("extensions", ()) else _send_parts(scope, send, whole)


async def send_stream(
    receive: Receive,
    send: Send,
    rendered: ErrorResponse,
    parts: AsyncGenerator[bytes, None],
    headers: Sequence[Header],
) -> None:
    """Send a response whose body comes in parts; each is requested when the client has taken most of the last one.

    `parts` is closed as soon as the client disconnects. `headers` are sent in addition to those of `rendered`. Raises
    IncompleteResponseError if `parts` raises a refusal or the database is unavailable, and its other exceptions.
    """
    status, own, _ = rendered
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *own]})
    sending = asyncio.ensure_future(_send_body(send, parts))
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        sending.cancel()  # defence: ADM26 client-gone
        await asyncio.gather(leaving, sending, return_exceptions=True)
        await parts.aclose()
    fault = None if sending.cancelled() else sending.exception()
    if isinstance(fault, Refusal) or (isinstance(fault, Exception) and is_unavailable(fault)):
        raise IncompleteResponseError from fault
    if fault is not None:
        raise fault


async def _send_body(send: Send, parts: AsyncGenerator[bytes, None]) -> None:
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_parts(scope: Scope, send: Send, whole: dict[str, Any]) -> None:
    """Send a response in the two messages of standard ASGI, for a server without the extension."""
    status, body = whole["status"], whole["body"]
    own = [*whole["always"], (b"x-request-id", whole["request_id"]), *whole["headers"]]
    if status not in (204, 304):
        own.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
