"""One request and its response on a connection: what the ASGI application receives and sends."""

import asyncio
import re
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import errors, tokens
from handlers.responses.reply import Header
from server.api.errors import CLOSE, render_refusal
from server.api.responses import FULL_RESPONSE, JSON, IncompleteResponseError, send_answer

if TYPE_CHECKING:
    from server.http.protocol import HttpProtocol

EXTENSIONS: dict[str, dict[object, object]] = {FULL_RESPONSE: {}}
"""The extensions that `ResponseCycle` supports, as declared in the ASGI scope of a request."""

HIGH_WATER = 64 * 1024
"""Size in bytes of the buffered part of a body above which reading from the socket stops."""

_BODILESS = (204, 304)
"""Statuses whose responses have neither a body nor a length."""

_NOT_IN_NAMES = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_NOT_IN_VALUES = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_STATUS_LINES: dict[int, bytes] = {
    each: b"HTTP/1.1 %d %s\r\n" % (each, each.phrase.encode()) for each in HTTPStatus
}

_log = structlog.get_logger(__name__)


class ResponseCycle:
    """One request and its response. In addition to ASGI's messages it accepts `FullResponse`, which needs one write.

    The connection is closed after a response that is sent before the end of its request.
    """

    def __init__(
        self,
        protocol: "HttpProtocol",
        app: ASGIApp,
        scope: dict[str, Any],
        keep_alive: bool = False,
        expects_continue: bool = False,
    ) -> None:
        self._app = app
        self.keep_alive = keep_alive
        self.has_started = False
        self._scope = scope
        self._protocol = protocol
        self._expects_continue = expects_continue
        self._body = bytearray()
        self._more_body = True
        self._is_over = False  # the response is complete, or the client is gone
        self._changed = asyncio.Event()
        self._head = b""  # sent with the first part of the body
        self._is_chunked = False

    def add_body(self, body: bytes) -> None:
        """Add a part of the request's body."""
        self._body += body
        if len(self._body) > HIGH_WATER:
            self._protocol.pause_reading()
        self._changed.set()

    def end_body(self) -> None:
        """Mark the request as complete."""
        self._more_body = False
        self._changed.set()

    def disconnect(self) -> None:
        """Mark the exchange as over: the client has disconnected, or the response is complete."""
        self._is_over = True
        self._changed.set()

    async def run(self) -> None:
        """Run the application. If it fails or does not respond, log a defect and respond with 500.

        If the response has begun by then, close the connection instead.
        """
        try:
            await self._app(self._scope, self.receive, self.send)
            if not self._is_over:
                _log.error("http.response_missing")
        except IncompleteResponseError as end:
            _log.warning("http.response_incomplete", reason=type(end.__cause__).__name__)
        except Exception:
            _log.exception("http.application_failed")
        if self._is_over:
            return
        if self.has_started:
            self._protocol.close()
        else:
            self.keep_alive = False
            await refusing(errors.InternalServerError())(self._scope, self.receive, self.send)

    async def receive(self) -> dict[str, Any]:
        """Return the next part of the request's body, or the message that the client has disconnected."""
        if self._expects_continue and not self._is_over:
            self._expects_continue = False
            self._protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self._is_over:
            self._protocol.resume_reading()
            # Most small requests have arrived whole.
            if not self._changed.is_set():
                await self._changed.wait()
            self._changed.clear()
        if self._is_over:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self._more_body}

    async def send(self, message: Any) -> None:
        """Write a part of the response or all of it; discard it if the client has disconnected.

        Raises RuntimeError for a message out of order, and for an invalid header.
        """
        if not self._protocol.writable.is_set():
            await self._protocol.writable.wait()
        if self._is_over:
            return
        type_ = message["type"]
        if self.has_started == (type_ != "http.response.body"):
            raise RuntimeError(f"{type_} is out of order")
        if type_ == FULL_RESPONSE:
            status, headers, body = message["status"], message["headers"], message["body"]
            # Nearly all responses have the same headers object, so its encoded form is cached.
            lines = _rendered_once(headers) if headers is JSON else rendered(headers)
            if status not in _BODILESS:
                lines += b"content-length: %d\r\n" % len(body)
            always = _rendered_once(message["always"])
            self._begin(
                status, b"%sx-request-id: %s\r\n%s" % (always, message["request_id"], lines), CLOSE in headers
            )
            self._write(body, has_more=False)
        elif type_ == "http.response.start":
            status, own = message["status"], [*message.get("headers", ())]
            is_sized = any(name.lower() == b"content-length" for name, _ in own)
            is_framed = is_sized or status in _BODILESS or self._scope["method"] == "HEAD"
            if not is_framed and self._scope["http_version"] == "1.0":
                self.keep_alive = False  # HTTP/1.0 has no chunks: the end of the connection ends the body.
                is_framed = True
            self._is_chunked = not is_framed
            if self._is_chunked:
                own.append((b"transfer-encoding", b"chunked"))
            self._begin(status, rendered(own), CLOSE in own)
        else:
            self._write(message.get("body", b""), has_more=message.get("more_body", False))

    def _begin(self, status: int, lines: bytes, closes: bool) -> None:
        if closes or self._more_body:
            self.keep_alive = False  # The unread part of the request is no longer needed.
        close = b"" if self.keep_alive or closes else _CLOSE_LINE
        date = _rendered_once(tuple(self._protocol.server_state.default_headers))
        self._head = b"%s%s%s%s\r\n" % (_STATUS_LINES[status], date, lines, close)
        self.has_started = True

    def _write(self, body: bytes, *, has_more: bool) -> None:
        if self._scope["method"] == "HEAD":
            body = b""
        elif self._is_chunked:
            body = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            body += b"" if has_more else b"0\r\n\r\n"
        chunk, self._head = self._head + body, b""
        self._protocol.transport.write(chunk)
        if not has_more:
            self.disconnect()
            self._protocol.finish(self)


def rendered(headers: Sequence[Header]) -> bytes:
    """Return headers as lines of HTTP/1.1. Raises RuntimeError for an invalid name or a control character in values."""
    if _NOT_IN_NAMES.search(b"".join([name for name, _ in headers])):
        raise RuntimeError("a response has a header with an impossible name")
    if _NOT_IN_VALUES.search(b"".join([value for _, value in headers])):
        raise RuntimeError("a response has a header with an impossible value")
    return b"".join([b"%s: %s\r\n" % header for header in headers])


_rendered_once = lru_cache(maxsize=16)(rendered)
"""Cached for headers that many responses share; none of them depends on a request."""

_CLOSE_LINE = rendered([CLOSE])


def refusing(refusal: errors.Refusal) -> ASGIApp:
    """Return an application that responds with a refusal."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(scope, send, render_refusal(refusal), tokens.request_id(), ())

    return app
