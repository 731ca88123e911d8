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
        answer = self._written(whole)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write_whole(answer)
        self.notify()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _written(self, whole: Whole) -> bytes:
        """Give the status line, all headers, and the body, which HEAD does not get."""
        status, headers, request_id, body = (
            whole["status"],
            whole["headers"],
            whole["request_id"],
            whole["body"],
        )
        if not request_id.isalnum():
            raise RuntimeError("an answer has an impossible request id")
        common = _COMMON.lines(self.default_headers, whole["always"])
        own = _JSON_LINES if headers is JSON else rendered(headers)
        if CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            own += b"connection: close\r\n"
        if status not in _BODILESS:
            own += b"content-length: %d\r\n" % len(body)
        sent = b"" if self.scope["method"] == "HEAD" else body
        return b"%s%sx-request-id: %s\r\n%s\r\n%s" % (STATUS_LINE[status], common, request_id, own, sent)


def rendered(headers: Sequence[Header]) -> bytes:
    """Give the lines of headers. Raises RuntimeError for what could end a line or stands in no name."""
    if HEADER_RE.search(b"".join([name for name, _ in headers])):
        raise RuntimeError("an answer has a header with an impossible name")
    if HEADER_VALUE_RE.search(b"".join([value for _, value in headers])):
        raise RuntimeError("an answer has a header with an impossible value")
    return b"".join([b"%s: %s\r\n" % header for header in headers])


class _Common:
    """The lines of headers that many answers have in common, for as long as the same objects hold them."""

    __slots__ = ("_always", "_default", "_lines")

    def __init__(self) -> None:
        self._default: Sequence[Header] = ()
        self._always: Sequence[Header] = ()
        self._lines = b""

    def lines(self, default: Sequence[Header], always: Sequence[Header]) -> bytes:
        """Give the lines of what uvicorn adds, a new list with each second's date, and of what answers always have.

        Nothing of one request may be among them. Raises RuntimeError as `rendered` does.
        """
        if default is not self._default or always is not self._always:
            self._lines = rendered(default) + rendered(always)
            self._default, self._always = default, always
        return self._lines


_COMMON = _Common()
_JSON_LINES = rendered(JSON)
