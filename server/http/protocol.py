"""HTTP/1.1 for uvicorn: one connection, parsed by httptools, answered by an ASGI application.

uvicorn takes a class of this kind by its option `http`. Its own writes head and body of a response separately (7 µs of
50 per request), and bounds neither the head of a request, nor the time a request may take, nor how many wait.
"""

import asyncio
import math
import re
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn import Config
from uvicorn.server import ServerState

from domain import errors
from server.api.request import MAX_TARGET
from server.http.response_cycle import EXTENSIONS, ResponseCycle, refusing

MAX_OVERHEAD = 64 * 1024
"""Maximum size in bytes of an incomplete head, of line ends before a head, or of chunk extensions and trailers. The
pipeline checks the size of complete heads; this bound is for heads that never end."""

CHUNK_SIZE = 4 * 1024
"""Bytes that are parsed at a time; the bound and the queue of requests are checked after each piece."""

CHUNK_FRAME = 20
"""Bytes of framing that each chunk may have: 16 digits and two line ends."""

DISCARD_TIMEOUT = 2.0
"""Seconds for which a refused request is still read and discarded, so that the client can read the response."""

_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:[^\r\n]*", re.IGNORECASE)


class HttpProtocol(asyncio.Protocol):
    """One connection. Requests are answered one at a time, in order; pipelined requests stay unread until then."""

    transport: asyncio.Transport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        request_timeout: float,
    ) -> None:
        """Take uvicorn's arguments for protocols, and the request timeout.

        `request_timeout` is in seconds. It limits the time from a request's first byte to its last, and the time in
        which a client must read a response.
        """
        self.server_state = server_state
        self.writable = asyncio.Event()
        self.writable.set()
        self._request_timeout = request_timeout
        self._config = config
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._queue: deque[ResponseCycle] = deque()  # unanswered; the application runs for the first
        self._receiving: ResponseCycle | None = (
            None  # the request whose body is being received; the last of the queue
        )
        self._is_in_head = False
        self._overhead = 0  # bytes since the last body part, complete head or complete request
        self._unread = b""  # bytes received behind queued requests
        self._is_refused = False  # the last of the queue is a refusal of an unreadable request
        self._is_reading = True
        self._is_closed = False
        self._deadline = math.inf  # the loop's time at which the client must have sent or read something
        self._timer: asyncio.TimerHandle | None = None  # set no later than the deadline

    # --- what asyncio calls ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # servers make no other
        """Register the connection; close it if no request arrives in time."""
        self.transport = transport
        self.server_state.connections.add(self)  # type: ignore[arg-type]  # uvicorn names its own protocols
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.3"},
            "server": server[:2] if isinstance(server, tuple) else None,
            "client": client[:2] if isinstance(client, tuple) else None,
            "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
            "root_path": "",
            "extensions": EXTENSIONS,
        }
        self._expect_within(self._request_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up, and notify the application."""
        self.server_state.connections.discard(self)
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.writable.set()
        for cycle in self._queue:
            cycle.disconnect()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; buffer those that follow a complete request until that request is answered."""
        for begin in range(0, len(data), CHUNK_SIZE):
            if self._is_closed or self._is_refused:
                return
            if self._is_waiting():
                # A parsed request needs a hundred times as much memory as its bytes on the wire.
                self._unread += data[begin:]
                self.pause_reading()
                return
            self._parse(data[begin : begin + CHUNK_SIZE])

    def pause_writing(self) -> None:
        """Stop writing until the client has read enough; it must do so within the request timeout."""
        self.writable.clear()
        self._expect_within(self._request_timeout)

    def resume_writing(self) -> None:
        """Continue writing."""
        self.writable.set()
        self._restart_clock()

    # --- what uvicorn calls ---------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Close the connection after the running requests."""
        if self._queue:
            self._queue[-1].keep_alive = False
        else:
            self.close()

    # --- what the parser calls ------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request, and start its timeout."""
        self._is_in_head = True
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._expects_continue = False
        self._expect_within(self._request_timeout)

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; ignore trailers, which must never be taken for headers."""
        if self._is_in_head:
            name = name.lower()
            if name == b"expect" and value.strip(b" \t").lower() == b"100-continue":
                self._expects_continue = True
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Start the request as soon as all earlier ones are answered.

        Raises ValueError, which stops the parser, for a request whose end is ambiguous.
        """
        parser, version = self._parser, self._parser.get_http_version()
        self._check_framing(version)  # defence: R39 transfer-coding
        path, raw_path, query = _target(self._url)
        scope = {
            **self._scope,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self._headers,
            "state": self._app_state.copy(),
        }
        # A persistent connection of HTTP/1.0 needs `Connection: keep-alive` in each response (RFC 9112, 9.3 and
        # C.2.2), which is not sent.
        keep_alive = version != "1.0" and parser.should_keep_alive()
        app = self._config.loaded_app
        self._receiving = ResponseCycle(self, app, scope, keep_alive, self._expects_continue)
        self._is_in_head = False
        self._overhead = 0
        self._append(self._receiving)

    def on_chunk_header(self) -> None:
        """Subtract the framing of a chunk from the overhead, so that a body may have many small chunks."""
        self._overhead = max(0, self._overhead - CHUNK_FRAME)

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._overhead = max(0, self._overhead - len(body))
        if self._receiving is not None:
            self._receiving.add_body(body)

    def on_message_complete(self) -> None:
        """Mark the request as complete, and set the next timeout."""
        cycle, self._receiving = self._receiving, None
        self._overhead = 0
        self._restart_clock()
        if cycle is not None:
            cycle.end_body()

    # --- what a response calls ------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        """Stop reading from the socket."""
        if self._is_reading and not self.transport.is_closing():
            self._is_reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Continue reading, unless earlier bytes are still buffered."""
        if not self._is_reading and not self._unread and not self.transport.is_closing():
            self._is_reading = True
            self.transport.resume_reading()

    def finish(self, cycle: ResponseCycle) -> None:
        """Remove an answered request from the queue; continue with the next queued request and the buffered bytes."""
        self._queue.popleft()
        if not cycle.keep_alive:
            self.close()
            return
        if self._queue:
            self._start(self._queue[0])
        if self._unread and not self._is_waiting():
            data, self._unread = self._unread, b""
            self.data_received(data)
        self.resume_reading()
        self._restart_clock()

    def close(self) -> None:
        """Close the connection. While the client is still sending, first discard its bytes for `DISCARD_TIMEOUT`.

        If a socket were closed with unread bytes, the client's system would discard the response (RFC 9112, 9.6).
        """
        if self._is_closed:
            return
        self._is_closed = True
        is_sending = self._is_in_head or self._receiving or self._unread or self._overhead or self._is_refused
        # Over TLS asyncio cannot close one direction only, so such a connection is closed at once.
        if not is_sending or not self.transport.can_write_eof():
            self._close_transport()
            return
        self.transport.write_eof()
        self._unread = b""
        self._expect_within(DISCARD_TIMEOUT)
        self.resume_reading()

    def _close_transport(self) -> None:
        """Close after the client has read everything, or after the timeout."""
        self.transport.close()
        self._expect_within(self._request_timeout)

    # --- reading --------------------------------------------------------------------------------------------

    def _is_waiting(self) -> bool:
        """Return whether the next bytes follow a complete request that is not answered yet."""
        return bool(self._queue) and self._queue[0] is not self._receiving

    def _parse(self, piece: bytes) -> None:
        # Every byte counts until the parser reports what it belongs to, so that a head without an end is bounded,
        # too.
        self._overhead += len(piece)  # defence: R37 idle-clock
        if not self._is_in_head and self._receiving is None and b"pgrade" in piece.lower():
            piece = _without_upgrade(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            # No other protocol is supported, so the following bytes are the next request.
            self._parser = httptools.HttpRequestParser(self)
            self.data_received(piece[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(errors.BadRequest("Invalid HTTP request"))  # defence: R39 bad-request
        if self._overhead > MAX_OVERHEAD:
            self._refuse(self._overlong())

    def _overlong(self) -> errors.Refusal:
        if self._is_in_head and len(self._url) > MAX_TARGET:
            return errors.UriTooLong()
        if self._is_in_head or self._receiving is not None:
            return errors.HeadersTooLarge()
        return errors.BadRequest("Invalid HTTP request")

    def _check_framing(self, version: str) -> None:
        """Refuse transfer codings other than one `chunked`, and any before HTTP/1.1 (RFC 9112, 6.1). Raises ValueError.

        Also refuse a body with an Upgrade header, because the parser would treat the body as the next request.
        """
        codings = [value for name, value in self._headers if name == b"transfer-encoding"]
        # A proxy in front may see another end of such a body, and the rest would be taken for a request of the next
        # client (request smuggling).
        if codings and (version == "1.0" or [each.strip(b" \t").lower() for each in codings] != [b"chunked"]):
            raise ValueError("the end of a body in an unknown transfer coding is uncertain")
        if self._parser.should_upgrade() and (codings or b"content-length" in dict(self._headers)):
            raise ValueError("the body would be read as a request")

    # --- time -----------------------------------------------------------------------------------------------

    def _restart_clock(self) -> None:
        """Set the deadline for the next event: the end of a request, its response, or another request."""
        if self._is_closed or not self.writable.is_set():
            return
        if self._is_in_head or self._receiving is not None:
            self._expect_within(self._request_timeout)
        elif self._queue:
            self._deadline = math.inf
        else:
            self._expect_within(self._config.timeout_keep_alive)

    def _expect_within(self, seconds: float) -> None:
        """Set the deadline. An earlier timer is kept and set again when it fires, which saves a timer per request."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer(self._deadline)

    def _set_timer(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._check_deadline)

    def _check_deadline(self) -> None:
        """Refuse a request that is incomplete at its deadline. A queued request gets another period."""
        self._timer = None
        if self._loop.time() < self._deadline:
            if self._deadline != math.inf:
                self._set_timer(self._deadline)
        elif self._is_closed and not self.transport.is_closing():
            self._close_transport()
        elif self._is_closed or not self.writable.is_set():
            self.transport.abort()
        elif self._is_waiting():
            self._expect_within(self._request_timeout)
        elif self._is_in_head or self._receiving is not None:
            self._refuse(errors.RequestTimeout())  # defence: R37 request-timeout
        else:
            self.close()  # defence: R37 R38 close-idle

    # --- answering ------------------------------------------------------------------------------------------

    def _append(self, cycle: ResponseCycle) -> None:
        """Queue a request; start it if it is the first."""
        self._queue.append(cycle)
        if len(self._queue) == 1:  # defence: R39 pipelined-refusal
            self._start(cycle)

    def _start(self, cycle: ResponseCycle) -> None:
        task = self._loop.create_task(cycle.run())
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    def _refuse(self, refusal: errors.Refusal) -> None:
        """Refuse the incoming request without calling the application, and close the connection.

        Earlier requests get their responses first. A request whose response has begun gets no second one.
        """
        if self._is_closed or self._is_refused:
            return
        cycle, self._receiving, self._is_in_head = self._receiving, None, False
        self._is_refused, self._deadline = True, math.inf
        self.pause_reading()
        if cycle is not None:
            cycle.disconnect()
            if cycle.has_started:
                self.close()
                return
            self._queue.pop()
        self._append(ResponseCycle(self, refusing(refusal), {**self._scope, "method": "GET"}))


def _without_upgrade(data: bytes) -> bytes:
    """Remove the Upgrade header from a head that begins here: no other protocol is supported, and clients that always
    send it get an ordinary response (RFC 9110, 7.8). In a later piece it is refused if the request has a body."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"", head) + end + rest if end else data


def _target(url: bytes) -> tuple[str, bytes, bytes]:
    """Return path, raw path and query of a request target. Raises httptools' error for an invalid target."""
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.path, parsed.query or b""
