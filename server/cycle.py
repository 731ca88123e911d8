"""One request and its answer on a connection: uvicorn's, and a way to send an answer that is complete at once."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from handlers.reply import Header
from server.errors import CLOSE
from server.gathering import Gathered
from server.pipeline.answers import JSON, WHOLE, Whole

EXTENSIONS: dict[str, dict[object, object]] = {WHOLE: {}}
"""What the scope of a request says of this cycle, as ASGI wants extensions to be told."""

_BODILESS = (204, 304)
"""Statuses whose answers have neither a body nor a length."""


class Cycle(RequestResponseCycle):
    """What the protocol makes for each request. Takes the message `Whole` beside those of ASGI: no loop over the
    same headers for every answer, one write, one message."""

    transport: Gathered  # type: ignore[assignment]

    # What every request begins with stands here once, and is not written into each.
    logger = logging.getLogger("uvicorn.error")
    access_log = False
    disconnected = False
    more_body = True
    response_started = False
    response_complete = False
    chunked_encoding: bool | None = None
    expected_content_length = 0
    _has_message = False
    _message_event: asyncio.Event | None = None

    def __init__(
        self,
        scope: Any,
        transport: Gathered,
        flow: FlowControl,
        default_headers: list[Header],
        expect_100_continue: bool,
        keep_alive: bool,
        on_response: Callable[..., None],
    ) -> None:
        self.scope = scope
        self.transport = transport
        self.flow = flow
        self.default_headers = default_headers
        self.waiting_for_100_continue = expect_100_continue
        self.keep_alive = keep_alive
        self.on_response = on_response
        self.body = bytearray()

    @property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        """Made when somebody wants it: most requests have no body to wait for."""
        if self._message_event is None:
            self._message_event = asyncio.Event()
            if self._has_message:
                self._message_event.set()
        return self._message_event

    def notify(self) -> None:
        """Let pass who waits for a part of the body, or for the end."""
        self._has_message = True
        if self._message_event is not None:
            self._message_event.set()

    async def send(self, message: Any) -> None:
        """Write a part of the answer, or all of it. Raises RuntimeError for a header that would break the answer."""
        if message["type"] != WHOLE:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if not self.disconnected:
            self._answer(message)

    def _answer(self, whole: Whole) -> None:
        if self.response_started:
            raise RuntimeError("an answer has been sent already")
        head = self._head(whole)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write_whole(head if self.scope["method"] == "HEAD" else head + whole["body"])
        self.notify()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _head(self, whole: Whole) -> bytes:
        """Give the status line and all headers, with the empty line that ends them."""
        status, headers, request_id = whole["status"], whole["headers"], whole["request_id"]
        if not request_id.isalnum():
            raise RuntimeError("an answer has an impossible request id")
        lines = [
            STATUS_LINE[status],
            _DEFAULT.lines(self.default_headers),
            _ALWAYS.lines(whole["always"]),
            b"x-request-id: %s\r\n" % request_id,
            _JSON_LINES if headers is JSON else rendered(headers),
        ]
        if CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        lines.append(b"\r\n" if status in _BODILESS else b"content-length: %d\r\n\r\n" % len(whole["body"]))
        return b"".join(lines)


def rendered(headers: Sequence[Header]) -> bytes:
    """Give the lines of headers. Raises RuntimeError for what could end a line or stands in no name."""
    if HEADER_RE.search(b"".join([name for name, _ in headers])):
        raise RuntimeError("an answer has a header with an impossible name")
    if HEADER_VALUE_RE.search(b"".join([value for _, value in headers])):
        raise RuntimeError("an answer has a header with an impossible value")
    return b"".join([b"%s: %s\r\n" % header for header in headers])


class _Common:
    """The lines of headers that many answers have in common, for as long as it is the same object that holds them."""

    __slots__ = ("_headers", "_lines")

    def __init__(self) -> None:
        self._headers: Sequence[Header] = ()
        self._lines = b""

    def lines(self, headers: Sequence[Header]) -> bytes:
        """Give the lines; nothing of one request may be among them. Raises RuntimeError as `rendered` does."""
        if headers is not self._headers:
            self._lines = rendered(headers)
            self._headers = headers
        return self._lines


_DEFAULT = _Common()
"""What uvicorn adds: a new list with each second's date."""
_ALWAYS = _Common()
_JSON_LINES = rendered(JSON)
