"""uvicorn's HTTP protocol, with one write per response, a time limit for requests and a bound for everything that
is no body (behaviour 1.3).

Given as `--http server.protocol:GatheringProtocol`, or made for other limits by `gathering`.
"""

import asyncio
from typing import ClassVar

from domain import errors
from server import heads, last_words
from server.bounds import CHUNK_FRAME, MAX_FRAMING, MAX_HEAD, MAX_REST, PIECE
from server.gathering import Gathered
from server.half_closed import HalfClosed
from server.pipeline.sizes import MAX_TARGET

LINGER = 2.0
"""Seconds in which the rest of a refused request is read and thrown away, so that the client can read the refusal."""

REQUEST_TIMEOUT = 30.0


class GatheringProtocol(HalfClosed):
    """One connection."""

    request_timeout: ClassVar[float] = REQUEST_TIMEOUT
    """Seconds from a request's first byte, or the connection's beginning, to the request's last byte; and in which some
    of an answer must be read."""

    _farewell: asyncio.TimerHandle | None = None

    _idle = 0
    """Bytes received in a row that brought nothing to an end: no head, no body that is waited for, no request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; a connection on which no request follows is closed in time."""
        super().connection_made(Gathered(transport, self.loop, self._close))  # type: ignore[arg-type]
        self._deadline = self.loop.call_later(self.request_timeout, self._expire)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and stop the clocks."""
        self._stop_clock()
        if self._farewell is not None:
            self._farewell.cancel()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        self._stop_waiting()
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless all that comes is to be thrown away, and end what is endless."""
        if self._farewell is not None:
            return
        if self._last_word is not None:
            self.flow.pause_reading()
            return
        if self.pipeline:
            self._keep(data)
            return
        if len(data) > PIECE:
            self._read_in_pieces(data)
            return
        self._idle += len(data)
        if heads.names_upgrade(data) and self._is_between_requests():
            data = heads.without_upgrade(data)
        super().data_received(data)
        if self._deadline is None and not self._is_received():
            self._deadline = self.loop.call_later(self.request_timeout, self._expire)
        if self._idle > MAX_FRAMING:
            self._check_bounds()

    def on_headers_complete(self) -> None:
        """Hand the request over; its head is closed from here on.

        Raises ValueError, which stops the parser, for a request of which it is not certain where it ends.
        """
        if self.parser.should_upgrade() and heads.has_body(self.headers):
            raise ValueError("the parser would take the body for another protocol's, or for the next request")
        version = self.parser.get_http_version()
        heads.check_coding(self.headers, version)
        self._begin_cycle(version)
        self._idle = 0
        self.headers = heads.TRAILERS

    def on_response_complete(self) -> None:
        """Go on with the request that waits, or begin to wait for one: no timer is set and cancelled for each."""
        if self.pipeline:
            super().on_response_complete()
            self._read_on()
            return
        self.server_state.total_requests += 1
        if self._last_word is not None:
            self._say(self._last_word)
        elif self._has_ended:
            self.transport.close()
        elif not self.transport.is_closing():
            self.flow.resume_reading()
            self._begin_quiet()

    def on_chunk_header(self) -> None:
        """Allow each chunk its frame: a body in many small chunks is a body like any other."""
        self._allow(CHUNK_FRAME)

    def on_body(self, body: bytes) -> None:
        """Hand a part of the body over."""
        self._allow(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request and its clock, also when it has been answered before it was complete."""
        self._stop_clock()
        self._idle = 0
        self.cycle.more_body = False
        self.cycle.notify()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in the form of every other error."""
        self._refuse(errors.BadRequest("Invalid HTTP request"))

    def _read_in_pieces(self, data: bytes) -> None:
        """Read what is longer than a piece; no further than to the first request that waits, or is refused."""
        for start in range(0, len(data), PIECE):
            if self.transport.is_closing():
                return
            if self.pipeline:
                self.data_received(data[start:])
                return
            self.data_received(data[start : start + PIECE])

    def _check_bounds(self) -> None:
        """Refuse a request of which nothing but frame has come for too long."""
        if self._is_in_head():
            if self._idle > MAX_HEAD:
                self._refuse(errors.UriTooLong() if len(self.url) > MAX_TARGET else errors.HeadersTooLarge())
        elif self.cycle is None:
            self._refuse(errors.BadRequest("Invalid HTTP request"))
        elif not self.cycle.response_complete or self._idle > MAX_REST:
            self._refuse(errors.HeadersTooLarge())

    def _allow(self, size: int) -> None:
        """Take bytes out of the count, unless they come after the answer, when nobody waits for them."""
        if not self.cycle.response_complete:
            self._idle = max(0, self._idle - size)

    def _expire(self) -> None:
        """Refuse the request that is not there in time. One that waits behind another is given as long again."""
        self._deadline = None
        if self._is_behind() or self.pipeline:
            self._deadline = self.loop.call_later(self.request_timeout, self._expire)
        elif self._is_in_head() or (self.cycle is not None and self.cycle.more_body):
            self._refuse(errors.RequestTimeout())
        else:
            self.transport.close()

    def _refuse(self, refusal: errors.Refusal) -> None:
        """Answer the request that is coming in, in the application's place and unless it has an answer; close.

        Requests before it get their answers first.
        """
        if self._is_behind():
            self._refuse_later(refusal)
            return
        is_owed = self._is_owed()
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if is_owed:
            self._say(refusal)
        self.transport.close()

    def _refuse_later(self, refusal: errors.Refusal) -> None:
        """Read nothing more, and keep the refusal until the requests before it are answered."""
        self._last_word = refusal
        self._stop_clock()
        self._drop_unfinished()

    def _say(self, refusal: errors.Refusal) -> None:
        """Send a refusal as the last answer of this connection, and close."""
        if not self.transport.is_closing():
            self.transport.write(last_words.written(refusal, self.server_state.default_headers))
        self.transport.close()

    def _close(self, transport: asyncio.Transport) -> None:
        """Close; when the client is still sending, only after it had time to read the answer.

        A socket closed with unread bytes in it makes the peer's system throw the answer away (RFC 9112, 9.6).
        """
        if self._farewell is not None or transport.is_closing():
            return
        is_sending = (
            self._idle > 0
            or self._is_in_head()
            or (self.cycle is not None and self.cycle.more_body)
            or bool(self._forget())
        )
        if not is_sending or not transport.can_write_eof():
            transport.close()
            return
        transport.write_eof()
        self._farewell = self.loop.call_later(LINGER, transport.close)
        self.flow.resume_reading()
        self.transport.resume_held()


def gathering(*, request_timeout: float) -> type[GatheringProtocol]:
    """Give the protocol class for a time limit of requests, in seconds; uvicorn takes a class."""
    return type("GatheringProtocol", (GatheringProtocol,), {"request_timeout": request_timeout})
