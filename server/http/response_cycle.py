"""One request and its response on a connection: what the ASGI application receives and sends."""

import asyncio
import re
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import structlog
from starlette.types import ASGIApp

from domain import errors, tokens
from handlers.reply import Header
from server.api.errors import CLOSE, render_refusal
from server.api.responses import DEFAULT_HEADERS, FULL_RESPONSE, JSON

if TYPE_CHECKING:
    from server.http.protocol import HttpProtocol

EXTENSIONS: dict[str, dict[object, object]] = {FULL_RESPONSE: {}}
"""What the scope of a request says of this cycle, as ASGI wants extensions to be told."""

HIGH_WATER = 64 * 1024
"""Bytes of a body that wait for the application before no more are read."""

_BODILESS = (204, 304)
"""Statuses whose responses have neither a body nor a length."""

_NOT_IN_NAMES = re.compile(rb'[\x00-\x1f\x7f()<>@,;:\[\]={} \t\\"]')
_NOT_IN_VALUES = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_STATUS_LINES: dict[int, bytes] = {
    status: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus
}

_log = structlog.get_logger(__name__)


class ResponseCycle:
    """Takes the message `FullResponse` as well as those of ASGI: one message and one write for a whole response."""

    def __init__(
        self, protocol: "HttpProtocol", scope: dict[str, Any], keep_alive: bool, expects_continue: bool
    ) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.has_started = self.is_complete = False
        self._protocol = protocol
        self._expects_continue = expects_continue
        self._body = bytearray()
        self._more_body = True
        self._is_disconnected = False
        self._changed = asyncio.Event()
        self._head = b""  # sent with the first part of the body
        self._is_chunked = False
        self._left = 0  # bytes of the body that are still to be sent, by its length

    def add_body(self, body: bytes) -> None:
        """Take a part of the request's body, unless the request is answered already."""
        if not self.is_complete:
            self._body += body
            if len(self._body) > HIGH_WATER:
                self._protocol.pause_reading()
            self._changed.set()

    def end_body(self) -> None:
        """The request is complete."""
        self._more_body = False
        self._changed.set()

    def disconnect(self) -> None:
        """The client is gone, or no longer heard."""
        self._is_disconnected = True
        self._changed.set()

    async def run(self, app: ASGIApp) -> None:
        """Run the application; one that fails, or gives no response, is a defect."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:
            _log.exception("http.application_failed")
        else:
            if self.is_complete or self._is_disconnected:
                return
            _log.error("http.response_missing")
        if self.is_complete or self._is_disconnected:
            return
        if not self.has_started:
            refusal = errors.InternalServerError()
            self._protocol.transport.write(
                error_response(refusal, self._protocol.server_state.default_headers)
            )
        self._protocol.close()

    async def receive(self) -> dict[str, Any]:
        """Return the next part of the request's body, or that the client is gone."""
        if self._expects_continue and not self._is_disconnected:
            self._expects_continue = False
            self._protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self._is_disconnected and not self.is_complete:
            self._protocol.resume_reading()
            await self._changed.wait()
            self._changed.clear()
        if self._is_disconnected or self.is_complete:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self._more_body}

    async def send(self, message: Any) -> None:
        """Write a part of the response, or all of it.

        Raises RuntimeError for a message out of order, a header that would break the response, or a wrong length.
        """
        if not self._protocol.writable.is_set():
            await self._protocol.writable.wait()
        if self._is_disconnected:
            return
        kind = message["type"]
        if self.is_complete or self.has_started == (kind != "http.response.body"):
            raise RuntimeError(f"{kind} is out of order")
        if kind == FULL_RESPONSE:
            self._send_whole(message)
        elif kind == "http.response.start":
            self._begin(message["status"], message.get("headers", ()))
        else:
            self._send_body(message.get("body", b""), has_more=message.get("more_body", False))

    def _send_whole(self, message: Any) -> None:
        request_id, body = message["request_id"], message["body"]
        if not request_id.isalnum():
            raise RuntimeError("a response has an impossible request id")
        headers = message["headers"]
        own = _rendered_once(JSON) if headers is JSON else rendered(headers)
        if CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            own += b"connection: close\r\n"
        if message["status"] not in _BODILESS:
            own += b"content-length: %d\r\n" % len(body)
        common = self._date() + _rendered_once(message["always"])
        sent = b"" if self.scope["method"] == "HEAD" else body
        self.has_started = True
        self._finish(
            b"%s%sx-request-id: %s\r\n%s\r\n%s"
            % (_STATUS_LINES[message["status"]], common, request_id, own, sent)
        )

    def _date(self) -> bytes:
        """Return the lines that uvicorn adds to every response, new with each second."""
        return _rendered_once(tuple(self._protocol.server_state.default_headers))

    def _begin(self, status: int, headers: Sequence[Header]) -> None:
        named = {name.lower(): value for name, value in headers}
        own = rendered(headers)
        if named.get(b"connection", b"").lower() == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            own += b"connection: close\r\n"
        if b"content-length" in named:
            self._left = int(named[b"content-length"])
        elif status not in _BODILESS and self.scope["method"] != "HEAD":
            self._is_chunked = True
            own += b"transfer-encoding: chunked\r\n"
        self.has_started = True
        self._head = _STATUS_LINES[status] + self._date() + own + b"\r\n"

    def _send_body(self, body: bytes, *, has_more: bool) -> None:
        if self.scope["method"] == "HEAD":
            body, self._left = b"", 0
        elif self._is_chunked:
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + (
                b"" if has_more else b"0\r\n\r\n"
            )
        else:
            self._left -= len(body)
            if self._left < 0 or (self._left > 0 and not has_more):
                raise RuntimeError("the body of a response has another length than its head says")
        part, self._head = self._head + body, b""
        if has_more:
            self._protocol.transport.write(part)
        else:
            self._finish(part)

    def _finish(self, part: bytes) -> None:
        """Write the last part. The body of the request, if there is more of it, is of no use any more."""
        self.is_complete = True
        self._expects_continue = False
        self._protocol.transport.write(part)
        self._changed.set()
        self._protocol.finish(self)


def rendered(headers: Sequence[Header]) -> bytes:
    """Return the lines of headers. Raises RuntimeError for what could end a line or cannot be a name."""
    if _NOT_IN_NAMES.search(b"".join([name for name, _ in headers])):
        raise RuntimeError("a response has a header with an impossible name")
    if _NOT_IN_VALUES.search(b"".join([value for _, value in headers])):
        raise RuntimeError("a response has a header with an impossible value")
    return b"".join([b"%s: %s\r\n" % header for header in headers])


_rendered_once = lru_cache(maxsize=16)(rendered)
"""For the headers that many responses have in common; none of them is of one request alone."""


def error_response(refusal: errors.Refusal, default_headers: Sequence[Header]) -> bytes:
    """Return an error as the last response of a connection, head and body."""
    status, headers, body = render_refusal(refusal)
    lines = [
        *default_headers,
        *DEFAULT_HEADERS,
        (b"x-request-id", tokens.request_id().encode()),
        *(header for header in headers if header != CLOSE),
        (b"content-length", b"%d" % len(body)),
        CLOSE,
    ]
    return _STATUS_LINES[status] + rendered(lines) + b"\r\n" + body
