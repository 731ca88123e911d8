"""HTTP/1.1 for uvicorn: one connection, parsed by httptools, answered by an ASGI application (behaviour 1.3).

uvicorn takes a class of this kind by its option `http`. Its own writes head and body of a response separately, and
bounds neither the head of a request, nor the time a request may take, nor how many wait behind one another.
"""

import asyncio
from collections import deque
from typing import Any, ClassVar

import httptools
from uvicorn import Config
from uvicorn.server import ServerState

from domain import errors
from server.api.request import MAX_TARGET
from server.http import request_head
from server.http.response_cycle import EXTENSIONS, ResponseCycle, error_response

MAX_HEAD = 64 * 1024
"""Bytes of an unfinished head that are kept. Shorter heads are finished first and refused, if need be, in the order of
behaviour 1.3; this bound is for those that never end."""

MAX_FRAMING = 16 * 1024
"""Bytes of line ends before a request, of chunk extensions and of trailers that are read in addition to a body."""

MAX_REST = 64 * 1024
"""Bytes of a request that are still read and discarded after the request was answered."""

PIECE = 4 * 1024
"""Bytes that are parsed at a time; the bounds, and whether requests wait, are checked after each piece."""

CHUNK_FRAME = 20
"""Bytes around a chunk that are ordinary: 16 digits and two line ends."""

LINGER = 2.0
"""Seconds in which the rest of a refused request is read and discarded, so that the client can read the response."""


class HttpProtocol(asyncio.Protocol):
    """One connection. Requests are answered one at a time, in order."""

    request_timeout: ClassVar[float] = 30.0
    """Seconds from a request's first byte to its last, and in which a client must read some of a response."""

    transport: asyncio.Transport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Take what uvicorn hands to every protocol."""
        self.server_state = server_state
        self.is_reading = True
        self.writable = asyncio.Event()
        self.writable.set()
        self._config = config
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._queue: deque[ResponseCycle] = deque()  # not answered yet; the application runs for the first
        self._receiving: ResponseCycle | None = None  # the request whose body is coming in
        self._is_in_head = False
        self._framing = 0  # bytes received in a row that were no body and completed no head and no request
        self._unread = b""  # received behind requests that wait
        self._refusal: errors.Refusal | None = None  # what ends the connection after the queue is answered
        self._has_ended = False  # the client sends nothing more
        self._is_closed = False
        self._deadline: float | None = None  # the loop's time at which the client must have sent something
        self._timer: asyncio.TimerHandle | None = (
            None  # set no later than the deadline, which moves with each request
        )
        self._other_timer: asyncio.TimerHandle | None = None  # for a client that does not read, or a refusal
        self._url = b""
        self._headers: request_head.Headers = []
        self._expects_continue = False

    # --- what asyncio calls ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # servers make no other
        """Begin; a connection on which no request follows is closed in time."""
        self.transport = transport
        self.server_state.connections.add(self)  # type: ignore[arg-type]  # uvicorn names its own protocols
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._pattern: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.3"},
            "server": server[:2] if isinstance(server, tuple) else None,
            "client": client[:2] if isinstance(client, tuple) else None,
            "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
            "root_path": "",
            "extensions": EXTENSIONS,
        }
        self._expect_by(self.request_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and tell the application."""
        self.server_state.connections.discard(self)
        self._is_closed = True
        for timer in (self._timer, self._other_timer):
            if timer is not None:
                timer.cancel()
        self.writable.set()
        for cycle in self._queue:
            cycle.disconnect()

    def eof_received(self) -> bool:
        """Return whether to stay open: complete requests get their responses, an incomplete one never will."""
        self._has_ended = True
        return not self._is_closed and self._is_waiting()

    def data_received(self, data: bytes) -> None:
        """Parse what has come, unless it is to be discarded or has to wait."""
        if self._is_closed:
            return
        if self._refusal is not None:
            self.pause_reading()
        elif self._is_waiting():
            self._keep(data)
        else:
            self._feed(data)

    def pause_writing(self) -> None:
        """Write nothing more until the client reads, and see to it that it does."""
        self.writable.clear()
        unsent = self.transport.get_write_buffer_size()
        self._other_timer = self._loop.call_later(self.request_timeout, self._check_reader, unsent)

    def resume_writing(self) -> None:
        """Write on."""
        if self._other_timer is not None and not self._is_closed:
            self._other_timer.cancel()
        self.writable.set()

    # --- what uvicorn calls ---------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Close after the requests under way."""
        if self._queue:
            self._queue[-1].keep_alive = False
        else:
            self.close()

    # --- what the parser calls ------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request, and its clock."""
        self._is_in_head = True
        self._url, self._headers, self._expects_continue = b"", [], False
        self._expect_by(self.request_timeout)

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is none and must never pass for one."""
        if self._is_in_head:
            name = name.lower()
            if name == b"expect" and value.strip(b" \t").lower() == b"100-continue":
                self._expects_continue = True
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Begin to answer the request, once those before it are answered.

        Raises ValueError, which stops the parser, for a request of which it is not certain where it ends.
        """
        parser = self._parser
        if parser.should_upgrade() and request_head.has_body(self._headers):
            raise ValueError("the parser would take the body for another protocol's, or for the next request")
        version = parser.get_http_version()
        request_head.check_coding(self._headers, version)  # defence: R39 transfer-coding
        path, raw_path, query = request_head.target(self._url)
        scope = {
            **self._pattern,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self._headers,
            "state": self._app_state.copy(),
        }
        keep_alive = version != "1.0" and parser.should_keep_alive()
        self._receiving = ResponseCycle(self, scope, keep_alive, self._expects_continue)
        self._is_in_head = False
        self._framing = 0
        self._queue.append(self._receiving)
        if len(self._queue) == 1:
            self._start(self._receiving)

    def on_chunk_header(self) -> None:
        """Allow each chunk its frame: a body in many small chunks is a body like any other."""
        self._allow(CHUNK_FRAME)

    def on_body(self, body: bytes) -> None:
        """Hand a part of the body over."""
        self._allow(len(body))
        if self._receiving is not None:
            self._receiving.add_body(body)

    def on_message_complete(self) -> None:
        """End the request and its clock, also when it was answered before it was complete."""
        cycle, self._receiving = self._receiving, None
        self._framing = 0
        self._deadline = None
        if cycle is not None:
            cycle.end_body()
        self._expect_next()

    # --- what a response calls ------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        """Take nothing more from the socket."""
        if self.is_reading and not self.transport.is_closing():
            self.is_reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on, unless what comes would have to wait."""
        if not self.is_reading and not self._unread and not self.transport.is_closing():
            self.is_reading = True
            self.transport.resume_reading()

    def finish(self, cycle: ResponseCycle) -> None:
        """Go on after a complete response: with the next request that waits, or with what was not read yet."""
        self.server_state.total_requests += 1
        self._queue.popleft()
        if not cycle.keep_alive:
            self.close()
            return
        if self._queue and not self._will_never_come():
            self._start(self._queue[0])
        if not self._queue and self._refusal is not None:
            self._end_with(self._refusal)
            return
        self._read_on()
        if self._has_ended and not self._is_waiting():
            self.close()
        else:
            self._expect_next()

    def close(self) -> None:
        """Close; while the client is still sending, only after it had time to read the response.

        A socket closed with unread bytes in it makes the peer's system discard the response (RFC 9112, 9.6).
        """
        if self._is_closed:
            return
        self._is_closed = True
        is_reading = self._is_in_head or self._receiving is not None
        is_sending = is_reading or bool(self._unread or self._framing or self._refusal)
        if not is_sending or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self._unread = b""
        self._other_timer = self._loop.call_later(LINGER, self.transport.close)
        self.resume_reading()

    # --- reading --------------------------------------------------------------------------------------------

    def _is_waiting(self) -> bool:
        """Return whether what comes now is behind a request that is complete and not answered."""
        return bool(self._queue) and self._queue[0] is not self._receiving

    def _will_never_come(self) -> bool:
        """Return whether the first request in the queue is incomplete and nothing more comes."""
        return self._has_ended and self._queue[0] is self._receiving and not self._unread

    def _keep(self, data: bytes) -> None:
        """Keep bytes until the requests before them are answered, and let no more come.

        A request that has been read takes a hundred times the memory that it had on the wire.
        """
        self._unread += data
        self.pause_reading()

    def _read_on(self) -> None:
        if self._unread and not self._is_waiting():
            data, self._unread = self._unread, b""
            self._feed(data)
        self.resume_reading()

    def _feed(self, data: bytes) -> None:
        """Parse bytes, but not behind a request that has to be answered first."""
        for begin in range(0, len(data), PIECE):
            if self._is_closed or self._refusal is not None:
                return
            if self._is_waiting():
                self._keep(data[begin:])
                return
            self._parse(data[begin : begin + PIECE])

    def _parse(self, piece: bytes) -> None:
        self._framing += len(piece)  # defence: R37 idle-clock
        if request_head.names_upgrade(piece) and not self._is_in_head and self._receiving is None:
            piece = request_head.without_upgrade(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            # There is no other protocol here: what follows is the next request.
            self._parser = httptools.HttpRequestParser(self)
            if rest := piece[upgrade.args[0] :]:
                self._feed(rest)
        except httptools.HttpParserError:
            self._refuse(errors.BadRequest("Invalid HTTP request"))  # defence: R39 bad-request
        if self._framing > MAX_FRAMING:
            self._check_bounds()

    def _allow(self, size: int) -> None:
        """Take bytes out of the count, unless they come after the response, when nobody waits for them."""
        if self._receiving is not None and not self._receiving.is_complete:
            self._framing = max(0, self._framing - size)

    def _check_bounds(self) -> None:
        """Refuse a request of which nothing but framing has come for too long."""
        if self._is_in_head:
            if self._framing > MAX_HEAD:
                self._refuse(errors.UriTooLong() if len(self._url) > MAX_TARGET else errors.HeadersTooLarge())
        elif self._receiving is None:
            # A client that has asked for something before gets no second answer to it.
            self._refuse(None if self._url else errors.BadRequest("Invalid HTTP request"))
        elif not self._receiving.is_complete or self._framing > MAX_REST:
            self._refuse(errors.HeadersTooLarge())

    # --- time -----------------------------------------------------------------------------------------------

    def _expect_next(self) -> None:
        """Wait for the next request, unless one is here or coming in."""
        if not self._is_in_head and self._receiving is None and not self._queue:
            self._expect_by(self._config.timeout_keep_alive)

    def _expect_by(self, seconds: float) -> None:
        """Set the deadline. The timer is not set again for each request: it looks again in time."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._watch(self._deadline)

    def _watch(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._check_deadline)

    def _check_deadline(self) -> None:
        """Refuse the request that is not there in time. One that waits behind another is given as long again."""
        self._timer = None
        if self._deadline is None or self._is_closed:
            return
        if self._loop.time() < self._deadline:
            self._watch(self._deadline)
        elif self._is_waiting():
            self._expect_by(self.request_timeout)
        elif self._is_in_head or self._receiving is not None:
            self._refuse(errors.RequestTimeout())  # defence: R37 request-timeout
        else:
            self.transport.close()  # defence: R37 R38 close-idle

    def _check_reader(self, unsent: int) -> None:
        """Cut off a client that has read nothing since."""
        left = self.transport.get_write_buffer_size()
        if left >= unsent:
            self.transport.abort()
        else:
            self._other_timer = self._loop.call_later(self.request_timeout, self._check_reader, left)

    # --- answering ------------------------------------------------------------------------------------------

    def _start(self, cycle: ResponseCycle) -> None:
        task = self._loop.create_task(cycle.run(self._config.loaded_app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    def _refuse(self, refusal: errors.Refusal | None) -> None:
        """Refuse the request that is coming in, in the application's place and unless it was answered; close.

        Requests before it get their responses first. None closes without a response.
        """
        if self._is_waiting():  # defence: R39 pipelined-refusal
            self._refusal = refusal
            self._drop_unfinished()
            return
        cycle = self._receiving
        if cycle is not None:
            is_owed = not cycle.has_started
            cycle.disconnect()
        else:
            is_owed = True
        self._end_with(refusal if is_owed else None)

    def _drop_unfinished(self) -> None:
        """Forget the request that will never be complete: the application does not run for it."""
        if self._receiving is not None and self._queue[-1] is self._receiving:
            self._queue.pop()
        self._receiving = None
        self._is_in_head = False
        self._deadline = None

    def _end_with(self, refusal: errors.Refusal | None) -> None:
        """Send an error as the last response of this connection, and close."""
        if refusal is not None and not self._is_closed:
            self.transport.write(error_response(refusal, self.server_state.default_headers))
            self._refusal = refusal
        self.close()


def make_protocol(*, request_timeout: float) -> type[HttpProtocol]:
    """Return the protocol class for a request timeout in seconds; uvicorn takes a class."""
    return type("HttpProtocol", (HttpProtocol,), {"request_timeout": request_timeout})
