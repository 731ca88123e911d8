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
"""Bytes of an unfinished head, of line ends before one, or of chunk extensions and trailers. Shorter heads are finished
first, and the pipeline refuses them if need be; this bound is for those that never end."""

PIECE = 4 * 1024
"""Bytes that are parsed at a time; the bound, and whether requests wait, are checked after each piece."""

CHUNK_FRAME = 20
"""Bytes around a chunk that are ordinary: 16 digits and two line ends."""

LINGER = 2.0
"""Seconds in which the rest of a refused request is read and discarded, so that the client can read the response."""

_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:[^\r\n]*", re.IGNORECASE)


class HttpProtocol(asyncio.Protocol):
    """One connection. Requests are answered one at a time, in order; those behind one that is complete wait unread."""

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
        """Take what uvicorn hands to every protocol, and the time limit.

        `request_timeout` is in seconds, from a request's first byte to its last, and in which a client must read what
        it was sent.
        """
        self.server_state = server_state
        self.writable = asyncio.Event()
        self.writable.set()
        self._request_timeout = request_timeout
        self._config = config
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._queue: deque[ResponseCycle] = deque()  # not answered yet; the application runs for the first
        self._receiving: ResponseCycle | None = (
            None  # the request whose body is coming in; the last of the queue
        )
        self._is_in_head = False
        self._overhead = 0  # bytes received in a row that were no body and completed no head and no request
        self._unread = b""  # received behind requests that wait
        self._is_refused = False  # the last of the queue is a refusal of what could not be read
        self._is_reading = True
        self._is_closed = False
        self._deadline = math.inf  # the loop's time at which the client must have sent or read something
        self._timer: asyncio.TimerHandle | None = None  # set no later than the deadline

    # --- what asyncio calls ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # servers make no other
        """Begin; a connection on which no request follows is closed in time."""
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
        """End, and tell the application."""
        self.server_state.connections.discard(self)
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.writable.set()
        for cycle in self._queue:
            cycle.disconnect()

    def data_received(self, data: bytes) -> None:
        """Parse what has come, but keep what stands behind a request that has to be answered first."""
        for begin in range(0, len(data), PIECE):
            if self._is_closed or self._is_refused:
                return
            if self._is_waiting():
                # A request that has been parsed takes a hundred times the memory that it had on the wire.
                self._unread += data[begin:]
                self.pause_reading()
                return
            self._parse(data[begin : begin + PIECE])

    def pause_writing(self) -> None:
        """Write nothing more until the client reads, which it must in time."""
        self.writable.clear()
        self._expect_within(self._request_timeout)

    def resume_writing(self) -> None:
        """Write on."""
        self.writable.set()
        self._restart_clock()

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
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._expects_continue = False
        self._expect_within(self._request_timeout)

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
        keep_alive = version != "1.0" and parser.should_keep_alive()
        app = self._config.loaded_app
        self._receiving = ResponseCycle(self, app, scope, keep_alive, self._expects_continue)
        self._is_in_head = False
        self._overhead = 0
        self._append(self._receiving)

    def on_chunk_header(self) -> None:
        """Allow each chunk its frame: a body in many small chunks is a body like any other."""
        self._overhead = max(0, self._overhead - CHUNK_FRAME)

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._overhead = max(0, self._overhead - len(body))
        if self._receiving is not None:
            self._receiving.add_body(body)

    def on_message_complete(self) -> None:
        """End the request and its clock."""
        cycle, self._receiving = self._receiving, None
        self._overhead = 0
        self._restart_clock()
        if cycle is not None:
            cycle.end_body()

    # --- what a response calls ------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        """Take nothing more from the socket."""
        if self._is_reading and not self.transport.is_closing():
            self._is_reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on, unless what comes would have to wait."""
        if not self._is_reading and not self._unread and not self.transport.is_closing():
            self._is_reading = True
            self.transport.resume_reading()

    def finish(self, cycle: ResponseCycle) -> None:
        """Go on after a complete response: with the next request that waits, or with what was not read yet."""
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
        """Close; while the client is still sending, only after it had time to read the response.

        A socket closed with unread bytes in it makes the peer's system discard the response (RFC 9112, 9.6).
        """
        if self._is_closed:
            return
        self._is_closed = True
        is_sending = self._is_in_head or self._receiving or self._unread or self._overhead or self._is_refused
        if not is_sending or not self.transport.can_write_eof():
            self._close_transport()
            return
        self.transport.write_eof()
        self._unread = b""
        self._expect_within(LINGER)
        self.resume_reading()

    def _close_transport(self) -> None:
        """Close once the client has read what it was sent, which it must in time."""
        self.transport.close()
        self._expect_within(self._request_timeout)

    # --- reading --------------------------------------------------------------------------------------------

    def _is_waiting(self) -> bool:
        """Return whether what comes now is behind a request that is complete and not answered."""
        return bool(self._queue) and self._queue[0] is not self._receiving

    def _parse(self, piece: bytes) -> None:
        self._overhead += len(piece)  # defence: R37 idle-clock
        if not self._is_in_head and self._receiving is None and b"pgrade" in piece.lower():
            piece = _without_upgrade(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            # There is no other protocol here: what follows is the next request.
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
        """Allow no transfer coding but `chunked`, once, and none before HTTP/1.1 (RFC 9112, 6.1). Raises ValueError.

        Nor a body behind a wish for another protocol, which the parser would take for the next request.
        """
        codings = [value for name, value in self._headers if name == b"transfer-encoding"]
        if codings and (version == "1.0" or [each.strip(b" \t").lower() for each in codings] != [b"chunked"]):
            raise ValueError("the end of a body in an unknown transfer coding is uncertain")
        if self._parser.should_upgrade() and (codings or b"content-length" in dict(self._headers)):
            raise ValueError("the body would be read as a request")

    # --- time -----------------------------------------------------------------------------------------------

    def _restart_clock(self) -> None:
        """Set the deadline by what comes next: the rest of a request, its response, or another request."""
        if self._is_closed or not self.writable.is_set():
            return
        if self._is_in_head or self._receiving is not None:
            self._expect_within(self._request_timeout)
        elif self._queue:
            self._deadline = math.inf
        else:
            self._expect_within(self._config.timeout_keep_alive)

    def _expect_within(self, seconds: float) -> None:
        """Set the deadline. The timer is not set again for each request: it looks again in time."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer(self._deadline)

    def _set_timer(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._check_deadline)

    def _check_deadline(self) -> None:
        """Refuse the request that is not there in time. One that waits behind another is given as long again."""
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
        """Queue a request; the application runs for the first."""
        self._queue.append(cycle)
        if len(self._queue) == 1:  # defence: R39 pipelined-refusal
            self._start(cycle)

    def _start(self, cycle: ResponseCycle) -> None:
        task = self._loop.create_task(cycle.run())
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    def _refuse(self, refusal: errors.Refusal) -> None:
        """Refuse the request that is coming in, in the application's place, and close.

        Requests before it get their responses first. One whose response has begun gets no other.
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
    """Leave the wish for another protocol out of a head that begins here: there is none, and who expresses it by habit
    gets an ordinary answer (RFC 9110, 7.8). One that arrives otherwise is refused if it has a body."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"", head) + end + rest if end else data


def _target(url: bytes) -> tuple[str, bytes, bytes]:
    """Return path, raw path and query of a request's target. Raises what httptools raises for one that is none."""
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.path, parsed.query or b""
