"""uvicorn's HTTP protocol, with one write per response, a time limit for requests and bounded heads
(behaviour 1.3).

Given as `--http server.protocol:GatheringProtocol`, or made for other limits by `gathering`.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from domain import errors, secrets
from server.errors import CLOSE, render_refusal
from server.gathering import Gathered
from server.pipeline.answers import ALWAYS
from server.pipeline.sizes import MAX_TARGET

MAX_HEAD = 64 * 1024
"""Bytes of an unfinished head that are kept. Shorter heads are finished first and refused, if need be, in the
order
of behaviour 1.3; this bound is for those that never end."""

LINGER = 2.0
"""Seconds in which the rest of a refused request is read and thrown away, so that the client can read the
refusal."""

REQUEST_TIMEOUT = 30.0


class _Trailers(list[Any]):
    """Takes what comes after a chunked body and keeps none of it: a trailer must never pass for a header."""

    def append(self, header: Any) -> None:
        """Forget the header."""


_TRAILERS = _Trailers()


class GatheringProtocol(HttpToolsProtocol):
    """One connection."""

    request_timeout: ClassVar[float] = REQUEST_TIMEOUT
    """Seconds from a request's first byte, or the connection's beginning, to the request's last byte."""

    _deadline: asyncio.TimerHandle | None = None
    _farewell: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; a connection on which no request follows is closed in time."""
        super().connection_made(Gathered(transport, self.loop, self._close))  # type: ignore[arg-type]
        self._deadline = self.loop.call_later(self.request_timeout, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and stop the clocks."""
        self._stop_clock()
        if self._farewell is not None:
            self._farewell.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless all that comes is to be thrown away."""
        if self._farewell is not None:
            return
        super().data_received(data)
        if self._is_received():
            self._stop_clock()
            self._head_bytes = 0
            return
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.request_timeout, self._expire)
        if self._is_in_head():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD:
                self._refuse(errors.UriTooLong() if len(self.url) > MAX_TARGET else errors.HeadersTooLarge())

    def on_headers_complete(self) -> None:
        """Hand the request over; its head is closed from here on."""
        super().on_headers_complete()
        self._head_bytes = 0
        self.headers = _TRAILERS

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in the form of every other error."""
        self._refuse(errors.BadRequest("Invalid HTTP request"))

    def _is_in_head(self) -> bool:
        """Whether a request has begun and its head is not complete."""
        return self.scope is not None and (self.cycle is None or self.cycle.scope is not self.scope)

    def _is_received(self) -> bool:
        """Whether the newest request has come in completely and is being answered."""
        cycle = self.cycle
        if cycle is None or cycle.scope is not self.scope:
            return False
        return not cycle.more_body and not cycle.response_complete

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        """Refuse the request that is not there in time. One that waits behind another is given as long
        again."""
        self._deadline = None
        is_behind = self.cycle is not None and not self.cycle.response_complete and self._is_in_head()
        if is_behind or self.pipeline:
            self._deadline = self.loop.call_later(self.request_timeout, self._expire)
        elif self._is_in_head() or (self.cycle is not None and self.cycle.more_body):
            self._refuse(errors.RequestTimeout())
        else:
            self.transport.close()

    def _refuse(self, refusal: errors.Refusal) -> None:
        """Answer in the application's place, unless it has begun to, and close."""
        cycle = self.cycle
        is_answering = cycle is not None and not cycle.response_complete
        if cycle is not None and is_answering:
            cycle.disconnected = True
            cycle.message_event.set()
        if not self.transport.is_closing() and not (is_answering and self._has_begun()):
            self.transport.write(_rendered(refusal, self.server_state.default_headers))
        self.transport.close()

    def _has_begun(self) -> bool:
        """Whether an answer is under way, or one is owed to an earlier request: another must not come
        between."""
        return self.cycle.response_started or self._is_in_head() or bool(self.pipeline)

    def _close(self, transport: asyncio.Transport) -> None:
        """Close; when the client is still sending, only after it had time to read the answer.

        A socket closed with unread bytes in it makes the peer's system throw the answer away (RFC 9112, 9.6).
        """
        if self._farewell is not None or transport.is_closing():
            return
        is_sending = self._is_in_head() or (self.cycle is not None and self.cycle.more_body)
        if not is_sending or not transport.can_write_eof():
            transport.close()
            return
        transport.write_eof()
        self._farewell = self.loop.call_later(LINGER, transport.close)
        self.flow.resume_reading()


def gathering(*, request_timeout: float) -> type[GatheringProtocol]:
    """Give the protocol class for a time limit of requests, in seconds; uvicorn takes a class."""
    return type("GatheringProtocol", (GatheringProtocol,), {"request_timeout": request_timeout})


def _rendered(refusal: errors.Refusal, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    """Give the whole response, head and body."""
    status, headers, body = render_refusal(refusal)
    lines = [
        *default_headers,
        *ALWAYS,
        (b"x-request-id", secrets.identifier().encode()),
        *(header for header in headers if header != CLOSE),
        (b"content-length", b"%d" % len(body)),
        CLOSE,
    ]
    head = b"".join(b"%s: %s\r\n" % header for header in lines)
    return b"%s%s\r\n%s" % (STATUS_LINE[status], head, body)
