"""One request and its answer on a connection: uvicorn's, and a way to send an answer that is complete at once."""

from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

from handlers.reply import Header
from server.errors import CLOSE
from server.gathering import Gathered
from server.pipeline.answers import WHOLE, Whole

EXTENSIONS: dict[str, dict[object, object]] = {WHOLE: {}}
"""What the scope of a request says of this cycle, as ASGI wants extensions to be told."""

_BODILESS = (204, 304)
"""Statuses whose answers have neither a body nor a length."""


class Cycle(RequestResponseCycle):
    """What the protocol makes for each request. Takes the message `Whole` beside those of ASGI: no loop over the
    same headers for every answer, one write, one message."""

    transport: Gathered  # type: ignore[assignment]

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
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _head(self, whole: Whole) -> bytes:
        """Give the status line and all headers, with the empty line that ends them."""
        status, headers = whole["status"], whole["headers"]
        lines = [STATUS_LINE[status], _prepared(*self.default_headers), _prepared(*whole["always"])]
        lines.append(rendered(headers))
        if CLOSE in headers:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        lines.append(b"\r\n" if status in _BODILESS else b"content-length: %d\r\n\r\n" % len(whole["body"]))
        return b"".join(lines)


def rendered(headers: "tuple[Header, ...] | list[Header]") -> bytes:
    """Give the lines of headers. Raises RuntimeError for what could end a line or stands in no name."""
    if HEADER_RE.search(b"".join([name for name, _ in headers])):
        raise RuntimeError("an answer has a header with an impossible name")
    if HEADER_VALUE_RE.search(b"".join([value for _, value in headers])):
        raise RuntimeError("an answer has a header with an impossible value")
    return b"".join([b"%s: %s\r\n" % header for header in headers])


@lru_cache(maxsize=16)
def _prepared(*headers: Header) -> bytes:
    """Give the lines of headers that many answers have in common; nothing of one request may be among them."""
    return rendered(headers)
