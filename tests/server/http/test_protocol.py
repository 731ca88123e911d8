"""The HTTP protocol over real sockets: one write per response, time limits, bounded heads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import orjson
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from server.api.responses import FULL_RESPONSE
from server.http.protocol import CHUNK_SIZE, MAX_OVERHEAD, HttpProtocol
from server.http.response_cycle import rendered

TIMEOUT = 10.0
"""Seconds after which a test gives up on the server."""

LONG = TIMEOUT * 6
"""A time limit for requests that no test waits for."""

SHORT = 0.5
"""A time limit for requests that a test can wait for."""

LARGE = 2**24
"""Bytes of an answer that no socket takes at once."""


@contextlib.asynccontextmanager
async def awaited() -> AsyncIterator[None]:
    """Wait inside for what must come. Raises AssertionError when it does not, or not whole."""
    try:
        async with asyncio.timeout(TIMEOUT):
            yield
    except TimeoutError:
        raise AssertionError(f"nothing came for {TIMEOUT:g} s") from None
    except asyncio.IncompleteReadError as cut:
        raise AssertionError(f"the connection ended after {cut.partial!r}") from None


@dataclass
class Wire:
    """One client connection, every byte as the test says."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connections: set[Any] = field(default_factory=set)
    """What the server has open, if it is one of this test."""

    async def send(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def answer(self, *, has_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        """Read one response of known length."""
        async with awaited():
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            status, *lines = head.strip().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines)
            length = int(headers.get("content-length", 0)) if has_body else 0
            return int(status.split()[1]), headers, await self.reader.readexactly(length)

    async def rest(self) -> bytes:
        """Read to the end of the connection."""
        async with awaited():
            return await self.reader.read()

    async def refusal(self) -> tuple[int, str]:
        """Read a refusal and the end of the connection after it; give status and code."""
        status, headers, body = await self.answer()
        assert (headers.get("connection"), headers.get("cache-control")) == ("close", "no-store")
        assert len(headers["x-request-id"]) == 32
        assert await self.rest() == b""
        return status, orjson.loads(body)["code"]


@dataclass
class App:
    """Answers with what it was asked; what it saw can be looked at."""

    whole: bool = False
    """Whether it gives its answers in one message each."""
    seen: list[dict[str, Any]] = field(default_factory=list)
    answered: int = 0
    waits: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether it waits for `release`."""
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        self.seen.append(scope)
        if path == "/refuse":
            await self.reply(send, 413, b"no", close=True)
            return
        if path == "/large":
            await self.reply(send, 200, b"x" * LARGE)
            return
        if path == "/skip":
            await self.reply(send, 404, b"no")
            return
        if path == "/wait":
            self.waits.set()
            await self.release.wait()
        if path == "/begin":
            await send(start(200, [(b"content-length", b"100")]))
        if path == "/stream":
            await self.stream(send)
            return
        body = await read(receive)
        if path == "/ponder":
            self.waits.set()
            await self.release.wait()
        if body is not None:
            self.answered += 1
            await self.reply(send, 200, path.encode() + b" " + body)

    async def reply(self, send: Any, status: int, body: bytes, *, close: bool = False) -> None:
        headers = [(b"connection", b"close")] if close else []
        if self.whole:
            await send(
                {
                    "type": FULL_RESPONSE,
                    "status": status,
                    "always": (),
                    "request_id": b"1",
                    "headers": headers,
                    "body": body,
                }
            )
            return
        await send(start(status, [(b"content-length", b"%d" % len(body)), *headers]))
        await send({"type": "http.response.body", "body": body})

    async def stream(self, send: Any) -> None:
        await send(start(200, []))
        for piece in (b"one", b"two"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.get_running_loop().run_in_executor(None, bool)
        await send({"type": "http.response.body", "body": b""})


def start(status: int, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": headers}


async def read(receive: Any) -> bytes | None:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message["body"]
        if not message["more_body"]:
            return body


def repeated(piece: bytes, size: int) -> bytes:
    """Return a piece as often as it takes for so many bytes."""
    return piece * (size // len(piece) + 1)


Connect = Callable[..., Any]


@pytest.fixture(params=[False, True], ids=["in-parts", "whole"])
async def app(request: pytest.FixtureRequest) -> App:
    return App(whole=request.param)


@pytest.fixture
async def connect(app: App) -> AsyncIterator[Connect]:
    """Yield connections to a server of this test: `await connect(request_timeout=…)`."""
    loop = asyncio.get_running_loop()
    stack = contextlib.AsyncExitStack()
    states: list[ServerState] = []

    def connections() -> list[Any]:
        return [each for state in states for each in state.connections]

    async def make(*, request_timeout: float = TIMEOUT, keep_alive: float = 5) -> Wire:
        config = Config(
            app,
            http=partial(HttpProtocol, request_timeout=request_timeout),  # type: ignore[arg-type]
            lifespan="off",
            ws="none",
            log_config=None,
            timeout_keep_alive=int(keep_alive),
        )
        config.load()
        state = ServerState()
        states.append(state)
        protocol: Any = config.http_protocol_class
        server = await loop.create_server(
            lambda: protocol(config=config, server_state=state, app_state={}, _loop=loop), "127.0.0.1", 0
        )
        stack.callback(server.close)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        stack.callback(writer.close)
        return Wire(reader, writer, state.connections)

    yield make
    await stack.aclose()
    for each in connections():
        each.transport.abort()
    async with awaited():
        while connections():  # noqa: ASYNC110 - the server tells nobody when it closes one
            await asyncio.sleep(0)


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: a", *headers, "", ""]).encode()


def post(path: str, *headers: str) -> bytes:
    return get(path, *headers).replace(b"GET", b"POST", 1)


class TestAnswers:
    async def test_requests_of_a_connection_share_nothing_of_their_own(
        self, connect: Connect, app: App
    ) -> None:
        wire = await connect()

        await wire.send(get("/a?b", "x: 1", "y: 2"))
        await wire.answer()
        app.seen[0]["state"]["mine"] = True
        await wire.send(post("/c", "z: 3", "Content-Length: 1") + b"d")
        await wire.answer()

        first, second = app.seen
        assert (first["method"], first["path"], first["query_string"]) == ("GET", "/a", b"b")
        assert (second["method"], second["path"], second["query_string"]) == ("POST", "/c", b"")
        assert dict(first["headers"]) == {b"host": b"a", b"x": b"1", b"y": b"2"}
        assert dict(second["headers"]) == {b"host": b"a", b"z": b"3", b"content-length": b"1"}
        assert second["state"] == {}

    async def test_head_has_no_body(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(get("/a").replace(b"GET", b"HEAD") + get("/b"))

        status, headers, _ = await wire.answer(has_body=False)
        assert (status, headers["content-length"]) == (200, "3")
        assert (await wire.answer())[2] == b"/b "

    async def test_a_target_that_is_not_plain_is_decoded(self, connect: Connect, app: App) -> None:
        wire = await connect()

        for target in ("/a-b/c_9", "/%61%2Fb?c=%64", "//a", "http://a/b?c", "/?"):
            await wire.send(get(target))
            await wire.answer()

        assert [(scope["path"], scope["raw_path"], scope["query_string"]) for scope in app.seen] == [
            ("/a-b/c_9", b"/a-b/c_9", b""),
            ("/a/b", b"/%61%2Fb", b"c=%64"),
            ("//a", b"//a", b""),
            ("/b", b"/b", b"c"),
            ("/", b"/", b""),
        ]

    async def test_a_quiet_connection_is_closed_in_time_and_one_in_use_is_not(
        self, connect: Connect, app: App
    ) -> None:
        wire = await connect(keep_alive=1)

        await wire.send(get("/a"))
        await wire.answer()
        await wire.send(get("/wait"))
        # Longer than the connection may be quiet; the one that is in use has to outlive that.
        quiet = await connect(keep_alive=1)
        await quiet.send(get("/b"))
        await quiet.answer()
        assert await quiet.rest() == b""
        app.release.set()

        assert (await wire.answer())[2] == b"/wait "

    @pytest.mark.parametrize("header", [(b"x", b"a\r\nb: c"), (b"x", b"a\0"), (b"x y", b"a"), (b"x:", b"a")])
    def test_no_header_breaks_an_answer(self, header: tuple[bytes, bytes]) -> None:
        with pytest.raises(RuntimeError, match="impossible"):
            rendered([(b"y", b"z"), header])

    async def test_a_stream_arrives_in_chunks(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(get("/stream", "Connection: close"))

        assert (await wire.rest()).endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")

    async def test_thousands_behind_one_that_waits_are_answered_in_order(
        self, connect: Connect, app: App
    ) -> None:
        wire = await connect()
        behind = [
            get(f"/{number}") if number % 3 else post(f"/{number}", "Content-Length: 600") + b"x" * 600
            for number in range(2000)
        ]

        wire.writer.write(get("/wait") + b"".join(behind) + b"no request\r\n\r\n")
        await app.waits.wait()
        app.release.set()
        answers = [(await wire.answer())[2] for _ in range(2001)]

        assert answers[1:] == [b"/%d " % n + (b"" if n % 3 else b"x" * 600) for n in range(2000)]
        assert await wire.refusal() == (400, "BAD_REQUEST")

    @pytest.mark.parametrize("headers", [(), ("Connection: close",), ("Content-Length: 5",)])
    async def test_who_reads_nothing_of_an_answer_is_cut_off(
        self, connect: Connect, headers: tuple[str, ...]
    ) -> None:
        wire = await connect(request_timeout=SHORT)

        await wire.send(get("/large", *headers))
        async with asyncio.timeout(LONG):
            while wire.connections:  # noqa: ASYNC110 - the server tells nobody when it closes one
                await asyncio.sleep(SHORT / 10)

        answer = await wire.rest()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert len(answer) < LARGE

    async def test_http_1_0_closes(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(b"GET /a HTTP/1.0\r\n\r\n")

        answer = await wire.rest()
        assert b"\r\nconnection: close\r\n" in answer
        assert answer.endswith(b"\r\n\r\n/a ")

    async def test_a_chunked_body_is_read(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(post("/a", "Transfer-Encoding: chunked") + b"2\r\nxy\r\n")
        await wire.send(b"1\r\nz\r\n0\r\n\r\n")

        assert (await wire.answer())[2] == b"/a xyz"

    @pytest.mark.parametrize("wish", ["100-continue", "100-continue \t"])
    async def test_continue_is_said_before_the_body_is_read(self, connect: Connect, wish: str) -> None:
        wire = await connect()

        await wire.send(post("/a", "Content-Length: 2", f"Expect: {wish}"))
        assert (await wire.answer())[0] == 100
        await wire.send(b"xy")

        assert (await wire.answer())[2] == b"/a xy"

    async def test_continue_is_not_said_when_the_answer_is_no(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(post("/refuse", "Content-Length: 999999", "Expect: 100-continue"))

        assert (await wire.answer())[0] == 413

    async def test_a_refusal_arrives_while_the_body_is_still_being_sent(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(post("/refuse", "Content-Length: 8000000") + b"x" * 4_000_000)

        assert (await wire.answer())[0] == 413
        assert await wire.rest() == b""

    async def test_trailers_never_pass_for_headers(self, connect: Connect, app: App) -> None:
        wire = await connect()

        await wire.send(post("/a", "Transfer-Encoding: chunked") + b"0\r\nAuthorization: Bearer x\r\n\r\n")

        assert (await wire.answer())[0] == 200
        assert [name for name, _ in app.seen[0]["headers"]] == [b"host", b"transfer-encoding"]


@pytest.mark.threat("R39")
class TestWhatIsNoHttp:
    @pytest.mark.parametrize(
        "raw",
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"BREW /a HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /a HTTP/9.9\r\nHost: a\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
            post("/a", "Content-Length: 2", "Content-Length: 3") + b"xyz",
            post("/a", "Content-Length: 2", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
            post("/a", "Content-Length: -1"),
            post("/a", "Content-Length: 2x"),
            post("/a", "Transfer-Encoding: chunked") + b"zz\r\n",
            get("/a", "Na me: x"),
            get("/a", "Name: a\0b"),
            get("/\0"),
            b"GET /a HTTP/1.1\r\n\0\r\n\r\n",
        ],
    )
    async def test_is_refused_in_the_form_of_every_error(self, connect: Connect, raw: bytes) -> None:
        wire = await connect()

        await wire.send(raw)

        assert await wire.refusal() == (400, "BAD_REQUEST")

    @pytest.mark.parametrize(
        "raw",
        [
            *(
                post("/a", f"Transfer-Encoding: {coding}")
                for coding in (
                    "gzip, chunked", "chunked, chunked", "identity", "gzip", "xchunked", ", chunked", "chunked;a=b",
                )
            ),
            post("/a", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked"),
            post("/a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
            post("/a", "Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0"),
        ],
    )  # fmt: skip
    async def test_no_coding_of_a_body_passes_but_chunked_once_in_its_version(
        self, connect: Connect, app: App, raw: bytes
    ) -> None:
        wire = await connect()

        await wire.send(raw + b"0\r\n\r\n" + get("/smuggled"))

        assert (await wire.refusal(), app.seen) == ((400, "BAD_REQUEST"), [])

    async def test_chunked_may_be_written_in_any_case(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(post("/a", "Transfer-Encoding:  Chunked ") + b"2\r\nxy\r\n0\r\n\r\n")

        assert (await wire.answer())[2] == b"/a xy"


@pytest.mark.threat("R39")
class TestWhatCannotBeReadBehindARequest:
    """It is refused after the request has been answered whole, once, and nothing behind it is read."""

    BEHIND: ClassVar[dict[str, tuple[bytes, tuple[int, str]]]] = {
        "no http": (b"garbage\r\n\r\n", (400, "BAD_REQUEST")),
        "bytes": (b"\x16\x03\x01\x02\x00", (400, "BAD_REQUEST")),
        "a header": (get("/b", "Na me: x"), (400, "BAD_REQUEST")),
        "a coding": (post("/b", "Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n", (400, "BAD_REQUEST")),
        "two lengths": (post("/b", "Content-Length: 2", "Content-Length: 3"), (400, "BAD_REQUEST")),
        "a chunk": (post("/b", "Transfer-Encoding: chunked") + b"zz\r\n", (400, "BAD_REQUEST")),
        "a target": (b"GET /" + b"x" * (MAX_OVERHEAD + 2 * CHUNK_SIZE), (414, "URI_TOO_LONG")),
    }

    @pytest.mark.parametrize("name", BEHIND)
    async def test_is_refused_after_the_answers(self, connect: Connect, app: App, name: str) -> None:
        raw, refusal = self.BEHIND[name]
        wire = await connect()

        sending = asyncio.create_task(wire.send(get("/a") + get("/wait") + raw + get("/smuggled")))
        assert (await wire.answer())[2] == b"/a "
        app.release.set()

        assert (await wire.answer())[2] == b"/wait "
        assert await wire.refusal() == refusal
        assert [scope["path"] for scope in app.seen] == ["/a", "/wait"]
        await sending

    async def test_also_when_it_comes_later(self, connect: Connect, app: App) -> None:
        wire = await connect()
        await wire.send(get("/wait"))
        await asyncio.wait_for(app.waits.wait(), TIMEOUT)

        await wire.send(b"garbage\r\n\r\n" + get("/smuggled"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wire.reader.read(1), SHORT)
        app.release.set()

        assert (await wire.answer())[2] == b"/wait "
        assert (await wire.refusal(), len(app.seen)) == ((400, "BAD_REQUEST"), 1)

    async def test_the_whole_of_a_stream_comes_first(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(get("/stream") + b"garbage\r\n\r\n")

        streamed, _, refused = (await wire.rest()).partition(b"0\r\n\r\n")
        assert streamed.endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n")
        assert refused.startswith(b"HTTP/1.1 400 ")
        assert refused.count(b"HTTP/1.1") == 1

    @pytest.mark.parametrize(
        "first", [get("/a", "Connection: close"), b"GET /a HTTP/1.0\r\n\r\n", get("/refuse")]
    )
    async def test_nothing_follows_an_answer_that_ends_the_connection(
        self, connect: Connect, first: bytes
    ) -> None:
        wire = await connect()

        await wire.send(first + b"garbage\r\n\r\n")

        status, headers, _ = await wire.answer()
        assert (status, headers["connection"]) == (413 if b"refuse" in first else 200, "close")
        assert await wire.rest() == b""

    async def test_without_end_it_is_not_read(self, connect: Connect, app: App) -> None:
        wire = await connect(request_timeout=SHORT)

        sending = asyncio.create_task(wire.send(get("/wait") + repeated(b"garbage\r\n", 20_000_000)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wire.reader.read(1), SHORT * 2)
        assert not sending.done()
        app.release.set()

        assert (await wire.answer())[2] == b"/wait "
        assert await wire.refusal() == (400, "BAD_REQUEST")
        with contextlib.suppress(ConnectionError):
            await sending


CHUNKED = post("/a", "Transfer-Encoding: chunked") + b"2\r\n{}\r\n"
"""A request that is complete but for what may follow its body."""


class TestAClientThatSendsNothingMore:
    """It has closed its half of the connection, and with it the whole."""

    @pytest.mark.parametrize(
        "raw", [b"", b"GET /b", post("/b", "Content-Length: 5") + b"x", get("/wait"), CHUNKED]
    )
    async def test_is_closed(self, connect: Connect, app: App, raw: bytes) -> None:
        wire = await connect(request_timeout=LONG)

        await wire.send(raw)
        wire.writer.write_eof()

        assert await wire.rest() == b""
        assert app.answered == 0


class TestUpgrade:
    """A body must never be read as a request, whatever protocol its head wishes for."""

    BODY = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

    def head(self, name: str, value: str = "h2c") -> bytes:
        wish = (
            "Connection: Upgrade, HTTP2-Settings",
            f"{name}: {value}",
            f"Content-Length: {len(self.BODY)}",
        )
        return post("/echo", *wish)

    @pytest.mark.parametrize("name", ["Upgrade", "upgrade", "UPGRADE"])
    @pytest.mark.parametrize("value", ["h2c", "websocket"])
    async def test_is_not_heeded(self, connect: Connect, app: App, name: str, value: str) -> None:
        wire = await connect()

        await wire.send(self.head(name, value))
        await wire.send(self.BODY)

        assert (await wire.answer())[2] == b"/echo " + self.BODY
        await wire.send(get("/next"))
        assert (await wire.answer())[2] == b"/next "
        assert [scope["path"] for scope in app.seen] == ["/echo", "/next"]

    @pytest.mark.parametrize("cut", [5, 40])
    @pytest.mark.parametrize("name", ["uPgRaDe", "Upgrade"])
    async def test_in_a_form_nobody_sends_it_is_refused(
        self, connect: Connect, app: App, name: str, cut: int
    ) -> None:
        wire = await connect()
        raw = self.head(name)

        await wire.send(raw[:cut])
        await asyncio.get_running_loop().run_in_executor(None, bool)
        await wire.send(raw[cut:] + self.BODY)

        assert await wire.refusal() == (400, "BAD_REQUEST")
        assert app.seen == []

    async def test_without_a_body_it_is_not_heeded_either(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(get("/a", "Connection: Upgrade", "Upgrade: websocket"))
        await wire.send(get("/b"))

        assert [(await wire.answer())[2], (await wire.answer())[2]] == [b"/a ", b"/b "]


class TestWhatIsEndless:
    @pytest.mark.parametrize(
        ("begin", "again"),
        [
            (CHUNKED + b"0\r\nX: ", b"a"),
            (CHUNKED + b"0\r\n", b"a"),
            (CHUNKED + b"0\r\n", b"x: y\r\n"),
            (CHUNKED + b"2;", b"a"),
            (CHUNKED + b"2;a=", b"a"),
            (CHUNKED, b"0"),
            (CHUNKED, b"1;" + b"a" * 1000 + b"\r\nz\r\n"),
        ],
        ids=["trailer value", "trailer name", "trailers", "extension", "its value", "digits", "extensions"],
    )
    async def test_frame_of_a_body_is_cut_off_and_its_request_ends(
        self, connect: Connect, app: App, begin: bytes, again: bytes
    ) -> None:
        wire = await connect(request_timeout=LONG)

        await wire.send(begin + repeated(again, MAX_OVERHEAD + 2 * CHUNK_SIZE))

        assert await wire.refusal() == (431, "HEADERS_TOO_LARGE")
        assert (len(app.seen), app.answered) == (1, 0)

    @pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
    async def test_line_ends_before_a_request_are_cut_off(self, connect: Connect, line_end: bytes) -> None:
        wire = await connect(request_timeout=LONG)

        await wire.send(repeated(line_end, MAX_OVERHEAD + 2 * CHUNK_SIZE))

        assert await wire.refusal() == (400, "BAD_REQUEST")

    async def test_a_body_in_small_chunks_is_none_of_it(self, connect: Connect) -> None:
        wire = await connect()

        await wire.send(post("/a", "Transfer-Encoding: chunked") + b"1\r\nz\r\n" * 40_000 + b"0\r\n\r\n")

        assert (await wire.answer())[2] == b"/a " + b"z" * 40_000

    async def test_a_large_body_is_none_of_it(self, connect: Connect) -> None:
        wire = await connect()
        body = b"x" * 1_000_000

        await wire.send(post("/a", f"Content-Length: {len(body)}") + body + get("/b"))

        assert [(await wire.answer())[2] for _ in range(2)] == [b"/a " + body, b"/b "]

    async def test_many_requests_at_once_are_none_of_it(self, connect: Connect) -> None:
        wire = await connect()
        request = get("/a", "X: " + "x" * 1000)
        count = 2 * MAX_OVERHEAD // len(request)

        await wire.send(request * count + get("/b")[:-2])

        for _ in range(count):
            assert (await wire.answer())[2] == b"/a "
        await wire.send(b"\r\n")
        assert (await wire.answer())[2] == b"/b "


class TestAnAnswerThatCameFirst:
    """Whoever answers before the end of a request wants nothing more of it."""

    @pytest.mark.parametrize(
        ("head", "rest"),
        [
            (post("/skip", "Content-Length: 10") + b"x", b"x"),
            (get("/skip", "Content-Length: 10") + b"x", get("/a")),
            (post("/skip", "Transfer-Encoding: chunked") + b"5\r\nx", b"zzzz\r\n0\r\n\r\n" + get("/a")),
            (post("/skip", "Transfer-Encoding: chunked"), b"zz\r\n"),
            (post("/skip", "Content-Length: 1000000000"), repeated(b"x", MAX_OVERHEAD)),
        ],
    )
    async def test_is_the_last_one(self, connect: Connect, app: App, head: bytes, rest: bytes) -> None:
        wire = await connect(request_timeout=SHORT)
        await wire.send(head)

        status, headers, _ = await wire.answer()
        with contextlib.suppress(ConnectionError):
            await wire.send(rest)

        assert (status, headers["connection"]) == (404, "close")
        assert await wire.rest() == b""
        assert len(app.seen) == 1


class TestLimits:
    @pytest.mark.parametrize(
        ("begin", "again", "refusal", "seen"),
        [
            (get("/a")[:-2], b"x: " + b"y" * 95 + b"\r\n", (431, "HEADERS_TOO_LARGE"), 0),
            (b"GET /", b"x" * 100, (414, "URI_TOO_LONG"), 0),
            (CHUNKED + b"0\r\nX: ", b"a" * 100, (431, "HEADERS_TOO_LARGE"), 1),
        ],
        ids=["head", "target", "trailer"],
    )
    async def test_what_is_endless_is_cut_off_in_small_pieces_too(
        self, connect: Connect, app: App, begin: bytes, again: bytes, refusal: tuple[int, str], seen: int
    ) -> None:
        wire = await connect(request_timeout=LONG)

        await wire.send(begin)
        with contextlib.suppress(ConnectionError):
            for _ in range((MAX_OVERHEAD + 4 * CHUNK_SIZE) // len(again)):
                await wire.send(again)

        assert (await wire.refusal(), len(app.seen), app.answered) == (refusal, seen, 0)

    @pytest.mark.threat("R37")
    @pytest.mark.parametrize(
        "raw", [b"G", get("/a")[:-2], post("/a", "Content-Length: 5") + b"x", b"\r\n" + get("/a")[:20]]
    )
    async def test_a_slow_request_is_refused(self, connect: Connect, raw: bytes) -> None:
        wire = await connect(request_timeout=SHORT)

        await wire.send(raw)

        assert await wire.refusal() == (408, "REQUEST_TIMEOUT")

    @pytest.mark.threat("R37")
    async def test_single_bytes_gain_no_time(self, connect: Connect) -> None:
        wire = await connect(request_timeout=SHORT)
        raw = iter(get("/" + "a" * 10000))

        async def trickle() -> None:
            for byte in raw:
                await wire.send(bytes([byte]))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.Event().wait(), SHORT / 10)

        sending = asyncio.create_task(trickle())
        assert await wire.refusal() == (408, "REQUEST_TIMEOUT")
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await sending

    @pytest.mark.threat("R37")
    @pytest.mark.parametrize("raw", [b"", b"\r\n"])
    async def test_a_silent_connection_is_closed_without_a_word(self, connect: Connect, raw: bytes) -> None:
        wire = await connect(request_timeout=SHORT)

        await wire.send(raw)

        assert await wire.rest() == b""

    async def test_line_ends_after_an_answer_do_not_keep_the_connection(self, connect: Connect) -> None:
        wire = await connect(request_timeout=SHORT, keep_alive=1)
        await wire.send(get("/a"))
        await wire.answer()

        await wire.send(b"\r\n")

        assert await wire.rest() == b""

    async def test_an_answer_under_way_is_not_followed_by_a_refusal(self, connect: Connect) -> None:
        wire = await connect(request_timeout=SHORT)

        await wire.send(post("/begin", "Content-Length: 5"))

        assert b"408" not in await wire.rest()

    async def test_the_time_a_handler_takes_is_its_own(self, connect: Connect, app: App) -> None:
        wire = await connect(request_timeout=SHORT)
        await wire.send(get("/wait"))

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wire.reader.read(1), SHORT * 2)
        app.release.set()

        assert (await wire.answer())[2] == b"/wait "

    async def test_a_request_behind_another_waits_for_it(self, connect: Connect, app: App) -> None:
        wire = await connect(request_timeout=SHORT)
        await wire.send(get("/wait") + b"GET /b")

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wire.reader.read(1), SHORT * 2)
        app.release.set()

        assert (await wire.answer())[2] == b"/wait "
        assert await wire.refusal() == (408, "REQUEST_TIMEOUT")
