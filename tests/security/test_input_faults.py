"""The rows R26 to R40: what no client in its right mind sends. Input never causes a 5xx."""

import asyncio
import contextlib
import gzip
import json
import os
import sys
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import cycle
from typing import ClassVar

import httpx
import pytest

from tests.conftest import Headers, MakeService
from tests.contract.conformance import HEAD_PATHS
from tests.contract.reading import JSON_OPERATIONS
from tests.handlers import steps
from tests.handlers.steps import ADA, bearer, code, join, refusal, user_of
from tests.labs.bench import machine
from tests.live import LiveService, serving
from tests.security.conftest import UNLIMITED
from tests.server.http.test_protocol import TIMEOUT, Wire
from tests.service import NO_TLS, PASSWORD, Service

on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="memory and open files of another process are read from /proc"
)

NO_JSON = (400, "BAD_REQUEST", "Invalid JSON in request body")
CREDENTIALS = {"email": ADA, "password": PASSWORD}
RIGHT = json.dumps(CREDENTIALS).encode()
JSON = {"Content-Type": "application/json"}
MEGABYTE = 1_000_000


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service without limits: these tests ask more often than a client may."""
    return await make_service(UNLIMITED)


async def send(
    service: Service, content: bytes, path: str = "/sign-in/email", **headers: str
) -> httpx.Response:
    """POST bytes as JSON; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await service.client.post(path, content=content, headers={**JSON, **named})


@pytest.mark.threat("R26")
class TestMalformedJson:
    """Malformed JSON."""

    MALFORMED = (
        b"{", b"]", b"}", b"{]", b'{"email"', b'{"email":}', b'{"email": "a",}', b"{'email': 'a'}", b"{email: 1}",
        b"{}}",
        b"{} {}", b"{}x", b'{"a": 1} // x', b'{/* x */"a": 1}', b"# x", b"\xef\xbb\xbf{}", b"NaN", b'{"a": NaN}',
        b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": 1e999}', b'{"a": -1e999}', b'{"a": 01}', b'{"a": +1}',
        b'{"a": .5}', b'{"a": 0x10}', b'{"a": "\n"}', b'{"a": "\x01"}', b'{"a": "\\x41"}', b'{"a": "\\u12"}',
        b'{"a": "unclosed', b"undefined", b"True", b"{} \x00", b"\x00", b"<xml/>", b"a=b",
    )  # fmt: skip

    async def test_is_refused_as_such(self, service: Service) -> None:
        """By operations with fields, without need of a session, and without fields, in turn."""
        ada = await join(service)
        paths = cycle(("/sign-in/email", "/sign-out", "/two-factor/send-otp"))

        for content, path in zip(self.MALFORMED, paths, strict=False):
            assert refusal(await send(service, content, path, **ada)) == NO_JSON, (path, content)
        assert await steps.works(service, ada)


@pytest.mark.threat("R27")
class TestDeepJson:
    """JSON many levels deep."""

    def nested(self, levels: int, opening: bytes, closing: bytes) -> bytes:
        """Return a sign-in with so many levels; its own object is the first of them."""
        inner = opening * (levels - 1) + b"1" + closing * (levels - 1)
        return RIGHT[:-1] + b', "other": ' + inner + b"}"

    @pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
    async def test_a_thousand_levels_are_read_and_no_more(
        self, service: Service, opening: bytes, closing: bytes
    ) -> None:
        await join(service)

        answers = [
            await send(service, self.nested(levels, opening, closing))
            for levels in (2, 1000, 1001, 1020, 1024, 1025, 5000)
        ]

        assert [code(answer) for answer in answers] == ["200"] * 2 + ["400 BAD_REQUEST"] * 5

    @pytest.mark.parametrize("content", [b"[" * 60_000, b"[" * 30_000 + b"]" * 30_000, b'{"a":' * 12_000])
    async def test_a_body_full_of_them_is_refused(self, service: Service, content: bytes) -> None:
        assert refusal(await send(service, content)) == NO_JSON


@pytest.mark.threat("R28")
class TestManyKeys:
    """JSON with very many keys, or with one key twice."""

    async def test_a_million_keys_do_not_fit(self, service: Service) -> None:
        body = b"{" + b",".join(b'"%d":1' % number for number in range(1_000_000)) + b"}"

        assert code(await send(service, body)) == "413 PAYLOAD_TOO_LARGE"

    async def test_those_that_fit_are_ignored(self, service: Service) -> None:
        await join(service)
        many = b",".join(b'"%d":1' % number for number in range(6000))

        assert code(await send(service, RIGHT[:-1] + b"," + many + b"}")) == "200"

    async def test_of_a_key_sent_twice_the_last_counts_everywhere(self, service: Service) -> None:
        ada = await join(service)
        twice = {
            "/sign-in/email": b'{"email": "eve@example.com", "password": 1, %b' % RIGHT[1:],
            "/verify-password": b'{"password": "wrong", "password": "%b"}' % PASSWORD.encode(),
            "/update-user": b'{"name": "Eve", "name": 7, "name": "Ada L"}',
            "/two-factor/enable": b'{"password": [], "method": "fax", "method": "totp", "password": "%b"}'
            % PASSWORD.encode(),
        }
        last_wrong = {
            "/sign-in/email": RIGHT[:-1] + b', "password": "wrong"}',
            "/verify-password": b'{"password": "%b", "password": "wrong"}' % PASSWORD.encode(),
            "/update-user": b'{"name": "Ada", "name": 7}',
        }

        told = {path: code(await send(service, body, path, **ada)) for path, body in twice.items()}
        wrong = {path: code(await send(service, body, path, **ada))[:3] for path, body in last_wrong.items()}

        assert set(told.values()) == {"200"}
        assert wrong == {"/sign-in/email": "401", "/verify-password": "400", "/update-user": "400"}
        assert (await user_of(service, ada))["name"] == "Ada L"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The service in a process of its own, which gives a request two seconds to arrive."""
    overrides = {**UNLIMITED, "server.request_timeout": "2s"}
    with serving(tmp_path_factory.mktemp("live"), overrides) as live:
        yield live


Dial = Callable[[], Awaitable[Wire]]


@pytest.fixture
async def dial(live: LiveService) -> AsyncIterator[Dial]:
    """Yield connections to the process, by `await dial()`."""
    url, made = httpx.URL(live.url), []

    async def connect() -> Wire:
        made.append(Wire(*await asyncio.open_connection(url.host, url.port)))
        return made[-1]

    yield connect
    await hang_up(made)


async def hang_up(wires: list[Wire]) -> None:
    """Drop connections, with all that is still to be sent on them, and return when their sockets are closed."""
    for wire in wires:
        wire.writer.transport.abort()
    await asyncio.gather(*(wire.writer.wait_closed() for wire in wires), return_exceptions=True)


async def flood(wire: Wire, head: bytes, piece: bytes, most: int) -> tuple[tuple[int, str], int]:
    """Send a head, and then a piece again and again, until the answer is there or `most` bytes are sent.

    Gives status and code of the answer, and the bytes sent.
    """
    answering, size = asyncio.create_task(wire.answer()), 0
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(TIMEOUT):
            await wire.send(head)
            while size < most and not answering.done():
                await wire.send(piece)
                size += len(piece)
                await asyncio.sleep(0)
    status, _, body = await answering
    return (status, json.loads(body)["code"]), size


async def is_well(live: LiveService) -> bool:
    """Return whether the process still answers somebody else."""
    async with httpx.AsyncClient(base_url=live.url, verify=NO_TLS, timeout=TIMEOUT) as client:
        return (await client.get("/ok")).status_code == 200


def post(*headers: bytes, path: bytes = b"/sign-in/email") -> bytes:
    """Return the head of a POST of JSON."""
    lines = [b"POST %b HTTP/1.1" % path, b"Host: a", b"Content-Type: application/json", *headers, b"", b""]
    return b"\r\n".join(lines)


def get(path: bytes = b"/ok", *headers: bytes, method: bytes = b"GET") -> bytes:
    """Return a request without a body."""
    return b"\r\n".join([b"%b %b HTTP/1.1" % (method, path), b"Host: a", *headers, b"", b""])


@pytest.mark.threat("R29")
class TestBodySizes:
    """Bodies of ten megabytes, without end, or of another length than they say."""

    @pytest.mark.threat("V73")
    @pytest.mark.parametrize("length", [65_537, 10 * MEGABYTE, 10**15, 10**30])
    async def test_a_length_that_is_too_much_is_refused_at_once(self, dial: Dial, length: int) -> None:
        wire = await dial()

        await wire.send(post(b"Content-Length: %d" % length))

        assert await wire.refusal() in [(413, "PAYLOAD_TOO_LARGE"), (400, "BAD_REQUEST")]

    @pytest.mark.threat("V73")
    @on_linux
    @pytest.mark.parametrize(
        ("header", "piece"),
        [
            (b"Transfer-Encoding: chunked", b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
            (b"Content-Length: 1000000000", b"x" * 65_536),
        ],
        ids=["chunks without end", "announced"],
    )
    async def test_what_comes_all_the_same_is_cut_off_and_not_kept(
        self, live: LiveService, dial: Dial, header: bytes, piece: bytes
    ) -> None:
        machine.forget_peak(live.process.pid)
        before = machine.peak_memory(live.process.pid)
        wires = [await dial() for _ in range(10)]

        floods = await asyncio.gather(*(flood(wire, post(header), piece, 1000 * MEGABYTE) for wire in wires))

        assert {refused for refused, _ in floods} == {(413, "PAYLOAD_TOO_LARGE")}
        assert max(size for _, size in floods) < 100 * MEGABYTE
        assert machine.peak_memory(live.process.pid) - before < 20
        assert await is_well(live)

    @on_linux
    async def test_thousands_of_requests_that_wait_for_each_other_are_not_kept(
        self, live: LiveService, dial: Dial
    ) -> None:
        machine.forget_peak(live.process.pid)
        before = machine.peak_memory(live.process.pid)
        wires = [await dial() for _ in range(4)]

        for wire in wires:
            wire.writer.write(get() * (MEGABYTE // len(get())))
        answers = await asyncio.gather(*(wire.answer() for wire in wires))

        assert {status for status, _, _ in answers} == {200}
        assert await is_well(live)
        assert machine.peak_memory(live.process.pid) - before < 20

    async def test_more_than_was_announced_is_the_next_request(self, dial: Dial) -> None:
        wire = await dial()

        await wire.send(post(b"Content-Length: 2") + b"{}" + get())

        refused, answered = await wire.answer(), await wire.answer()
        assert json.loads(refused[2])["message"].startswith("[body.email] is required")
        assert answered[0] == 200

    async def test_less_than_was_announced_is_never_carried_out(self, live: LiveService, dial: Dial) -> None:
        new = json.dumps({"name": "Less", "email": "less@example.com", "password": PASSWORD}).encode()
        waiting, leaving = await dial(), await dial()

        for wire in (waiting, leaving):
            await wire.send(post(b"Content-Length: %d" % (len(new) + 1), path=b"/sign-up/email") + new)
        leaving.writer.close()
        late = await waiting.refusal()

        assert late == (408, "REQUEST_TIMEOUT")
        async with httpx.AsyncClient(base_url=live.url, timeout=60) as client:
            body = {"email": "less@example.com", "password": PASSWORD}
            assert (await client.post("/sign-in/email", json=body)).status_code == 401


@pytest.mark.threat("R30")
class TestCompressedBodies:
    """Compressed bodies, which may be a thousand times as long inside."""

    BOMB = gzip.compress(b"x" * 10 * MEGABYTE)

    @pytest.mark.parametrize(
        "coding",
        ["gzip", "GZIP", "x-gzip", "deflate", "br", "zstd", "gzip, identity", "identity, gzip", "unknown"],
    )
    async def test_no_coding_is_undone(self, service: Service, coding: str) -> None:
        contents = (gzip.compress(RIGHT), zlib.compress(RIGHT), RIGHT, self.BOMB)

        answers = [await send(service, content, Content_Encoding=coding) for content in contents]

        assert {code(answer) for answer in answers} == {"415 UNSUPPORTED_MEDIA_TYPE"}


@pytest.mark.threat("R31")
class TestEncodings:
    """Bytes that are no UTF-8, or say that they are something else."""

    async def test_what_is_no_utf_8_is_refused(self, service: Service) -> None:
        ada = await join(service)

        for name in (
            b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe9t\xe9", b"A\x80",
            b"\xf8\x88\x80\x80\x80",
        ):  # fmt: skip
            answer = await send(service, b'{"name": "%b"}' % name, "/update-user", **ada)
            assert refusal(answer) == NO_JSON, name

        assert (await user_of(service, ada))["name"] == "Ada"

    @pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037"])
    async def test_another_encoding_is_refused_whether_named_or_not(
        self, service: Service, codec: str
    ) -> None:
        await join(service)
        content = json.dumps({**CREDENTIALS, "a": "é+"}, ensure_ascii=False).encode(codec)

        named = await send(service, content, Content_Type=f"application/json; charset={codec}")
        unnamed = await send(service, content)

        assert code(named) == "415 UNSUPPORTED_MEDIA_TYPE"
        assert codec == "utf-7" or refusal(unnamed) == NO_JSON

    @pytest.mark.threat("R33")
    @pytest.mark.parametrize("escaped", [False, True])
    async def test_what_is_stored_is_what_was_meant(self, service: Service, escaped: bool) -> None:
        ada, name = await join(service), "Žofie 李 \U0001f600 \u00e9 e\u0301"
        content = json.dumps({"name": name}, ensure_ascii=escaped).encode()

        answer = await send(
            service, content, "/update-user", Content_Type="application/json; charset=utf-8", **ada
        )

        assert code(answer) == "200"
        assert (await user_of(service, ada))["name"] == name


@pytest.mark.threat("R32")
class TestNul:
    """NUL, which PostgreSQL cannot store and SQLite can; tests/handlers/test_inputs.py sends it in every field."""

    async def test_no_path_query_header_or_cookie_has_it(self, service: Service) -> None:
        ada = await join(service)
        token = "x" * 31 + "\x00"

        told = {
            "path": code(await service.get("/reset-password/%00")),
            "token": code(await service.get(f"/reset-password/{'x' * 31}%00")),
            "other path": code(await service.get("/get-session%00", headers=ada)),
            "query": code(await service.get("/verify-email?token=%00")),
            "flag": code(await service.get("/get-session?disableRefresh=%00", headers=ada)),
            "unknown query": code(await service.get("/get-session?x=%00", headers=ada)),
            "bearer": code(await service.get("/get-session", headers={"Authorization": f"Bearer {token}"})),
            "cookie": code(
                await service.get("/get-session", headers={"Cookie": f"service.session-token={token}"})
            ),
            "page": str((await service.get("/error?error=%00")).status_code),
        }

        assert told == {
            "path": "400 INVALID_TOKEN",
            "token": "400 INVALID_TOKEN",
            "other path": "404 NOT_FOUND",
            "query": "400 VALIDATION_ERROR",
            "flag": "400 VALIDATION_ERROR",
            "unknown query": "200",
            "bearer": "401 UNAUTHORIZED",
            "cookie": "401 UNAUTHORIZED",
            "page": "400",
        }


@pytest.mark.threat("R33")
class TestSurrogates:
    """Lone surrogates, which are no characters and cannot be encoded."""

    ESCAPES = (b"\\ud800", b"\\udfff", b"a\\ud83d", b"\\ude00\\ud83d", b"\\uD800\\u0041", b"\\ud800\\ud800")

    async def test_no_text_has_one(self, service: Service) -> None:
        ada = await join(service)
        before = await user_of(service, ada)
        fields = (
            ("/update-user", b'{"name": "%b"}'),
            ("/change-password", b'{"newPassword": "%b"}'),
            ("/sign-in/email", b'{"unknown": "%b"}'),
            ("/sign-in/email", b'{"%b": 1}'),
        )

        for path, body in fields:
            for escape in self.ESCAPES:
                answer = await send(service, body % escape, path, **ada)
                assert refusal(answer) == NO_JSON, (path, body, escape)
        assert await user_of(service, ada) == before

    async def test_a_header_that_is_no_utf_8_is_kept_as_text(self, service: Service) -> None:
        await join(service)
        agents = (b"\xed\xa0\x80", b"\xff\xfe", b"caf\xe9", "Žofie".encode())

        shown = []
        for agent in agents:
            answer = await service.client.post(
                "/sign-in/email", json=CREDENTIALS, headers=[(b"User-Agent", agent)]
            )
            assert code(answer) == "200", agent
            session = await service.get("/get-session", headers=bearer(answer.json()["token"]))
            shown.append(session.json()["session"]["userAgent"])

        assert shown == ["\ufffd" * 3, "\ufffd" * 2, "caf\ufffd", "Žofie"]


@pytest.mark.threat("R34")
class TestLongTexts:
    """Texts of a megabyte wherever a text may stand."""

    async def test_lengths_end_where_it_is_written(self, service: Service) -> None:
        ada = await join(service)
        limits = (
            ("name", 256, ""),
            ("image", 2048, "http://x.test/"),
            ("username", 30, ""),
            ("displayUsername", 64, ""),
        )

        for field, limit, prefix in limits:
            text = prefix + "x" * (limit - len(prefix))
            fits = await service.post("/update-user", {field: text}, headers=ada)
            beyond = await service.post("/update-user", {field: text + "x"}, headers=ada)
            assert (fits.status_code, beyond.status_code) == (200, 400), field


@pytest.mark.threat("R35")
class TestUnicode:
    """Characters that steer, stack or take long to bring into their normal form."""

    async def test_odd_passwords_open(self, service: Service) -> None:
        """NFKC makes eighteen characters of one, and one of several spellings."""
        for number, password in enumerate(
            ("\ufdfa" * 7, "Å" * 8, "é" * 128, "🦄" * 128, "a" + "\u0301\u0323" * 40)
        ):
            email = f"user{number}@example.com"
            await join(service, email, password=password)
            assert await steps.opens(service, password, email)

    async def test_names_are_stored_as_they_were_typed(self, service: Service) -> None:
        ada = await join(service)
        name = "\ufb03 \u2126 \u00b2" + "\U0001f600" * 200

        await service.post("/update-user", {"name": name}, headers=ada)

        assert (await steps.user_of(service, ada))["name"] == name


@pytest.mark.threat("R37")
class TestSlowClients:
    """Clients that send a byte now and then, to hold as many connections as they can."""

    SLOW = 100

    @pytest.mark.parametrize(
        "raw",
        [
            get(b"/" + b"a" * 1000),
            post(b"Content-Length: 1000") + b" " * 1000,
            post(b"Transfer-Encoding: chunked") + b"1\r\n \r\n" * 200,
        ],
        ids=["head", "body", "chunks"],
    )
    async def test_are_refused_in_time_and_hold_nobody_up(
        self, live: LiveService, dial: Dial, raw: bytes
    ) -> None:
        wires = [await dial() for _ in range(self.SLOW)]
        start = raw.index(b"\r\n\r\n") + 4 if raw.startswith(b"POST") else 10
        for wire in wires:
            await wire.send(raw[:start])

        refusing = asyncio.gather(*(self.drip(wire, raw[start:]) for wire in wires))
        served = [await is_well(live) for _ in range(5)]
        refusals = await refusing

        assert set(refusals) == {(408, "REQUEST_TIMEOUT")}
        assert all(served)
        assert await is_well(live)

    async def drip(self, wire: Wire, rest: bytes) -> tuple[int, str]:
        """Send a byte every tenth of a second until somebody has had enough; give the refusal."""
        refusal_ = asyncio.create_task(wire.refusal())
        for byte in rest:
            done, _ = await asyncio.wait({refusal_}, timeout=0.1)
            if done:
                break
            with contextlib.suppress(ConnectionError):
                await wire.send(bytes([byte]))
        return await refusal_


@pytest.mark.threat("R38")
class TestFloodsOfConnections:
    """Floods of connections, half-open ones, and clients that leave in the middle."""

    FLOOD = 200

    def open_files(self, live: LiveService) -> int:
        return len(os.listdir(f"/proc/{live.process.pid}/fd"))

    async def until_files(self, live: LiveService, most: int) -> int:
        """Wait until the process has at most so many open files; give how many it has in the end."""
        deadline = time.monotonic() + TIMEOUT
        while self.open_files(live) > most and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.05)
        return self.open_files(live)

    @on_linux
    async def test_no_connection_is_left_behind(self, live: LiveService, dial: Dial) -> None:
        assert await is_well(live)
        before = self.open_files(live)
        wires = [await dial() for _ in range(self.FLOOD)]
        pieces = (b"", b"GET", get()[:-2], get(), get() * 5, post(b"Content-Length: 9"), b"\x16\x03\x01")

        for number, wire in enumerate(wires):
            with contextlib.suppress(ConnectionError):
                await wire.send(pieces[number % len(pieces)])
            if number % 3 == 0:
                wire.writer.write_eof()
            elif number % 3 == 1:
                wire.writer.transport.abort()

        assert await is_well(live)
        assert await self.until_files(live, before + 5) <= before + 5
        assert await is_well(live)

    async def test_who_leaves_early_gets_all_or_nothing(self, live: LiveService, dial: Dial) -> None:
        """A sign-up whose client is gone is made once, whole, or not at all."""
        emails = [f"gone{number}@example.com" for number in range(10)]
        for number, email in enumerate(emails):
            wire = await dial()
            body = json.dumps({"name": "Gone", "email": email, "password": PASSWORD}).encode()
            await wire.send(post(b"Content-Length: %d" % len(body), path=b"/sign-up/email") + body)
            if number % 2:
                wire.writer.transport.abort()
            else:
                wire.writer.close()

        async with httpx.AsyncClient(base_url=live.url, verify=NO_TLS, timeout=TIMEOUT) as client:
            for email in emails:
                body_of = {"name": "Gone", "email": email, "password": PASSWORD}
                again = await client.post("/sign-up/email", json=body_of)
                signed_in = await client.post("/sign-in/email", json=body_of)
                assert again.status_code in (200, 422)
                assert signed_in.status_code == 200


@pytest.mark.threat("R39")
class TestRareHttp:
    """HTTP as few people speak it."""

    REFUSED: ClassVar[dict[str, tuple[bytes, int]]] = {
        "no host": (b"GET /ok HTTP/1.1\r\n\r\n", 400),
        "two hosts": (get(b"/ok", b"Host: b"), 400),
        "folded header": (get(b"/ok", b"X: a\r\n b"), 400),
        "unknown method": (get(method=b"BREW"), 400),
        "no http": (b"hello\r\n\r\n", 400),
        "connect": (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        "trace": (get(method=b"TRACE"), 405),
        "delete": (get(method=b"DELETE"), 405),
        "trailing slash": (get(b"/ok/"), 404),
        "doubled slash": (get(b"//ok"), 404),
        "encoded slash": (get(b"/sign-in%2femail"), 404),
        "encoded slash at the end": (get(b"/reset-password/%2f"), 404),
        "dot": (get(b"/./ok"), 404),
        "backslash": (get(b"/sign-in%5cemail"), 404),
    }

    async def test_is_refused_in_the_form_of_every_error(self, live: LiveService, dial: Dial) -> None:
        for name, (raw, expected) in self.REFUSED.items():
            wire = await dial()
            await wire.send(raw)
            status, headers, body = await wire.answer()

            if name in ("connect", "unknown method", "folded header"):
                assert 400 <= status < 500, name
            else:
                assert status == expected, name
            assert headers.get("content-type") == "application/json", name
            assert set(json.loads(body)) == {"message", "code"}, name
            assert status != 405 or headers.get("allow") == "get, head, options", name
        assert await is_well(live)

    async def test_http_1_0_is_answered_and_closed(self, dial: Dial) -> None:
        for raw in (b"GET /ok HTTP/1.0\r\n\r\n", b"GET /ok HTTP/1.0\r\nHost: a\r\n\r\n"):
            wire = await dial()
            await wire.send(raw)
            status, headers, body = await wire.answer()
            assert (status, body, headers["connection"]) == (200, b'{"ok":true}', "close")
            assert await wire.rest() == b""

    async def test_a_method_that_is_not_there_is_named_and_does_nothing(self, service: Service) -> None:
        """HEAD and OPTIONS too: neither follows a link nor ends a session."""
        ada = await join(service)
        link = steps.local(await steps.last_link(service, "verify-email"))

        for operation in JSON_OPERATIONS.values():
            path = operation.path.replace("{token}", steps.UNKNOWN).replace("{provider}", "github")
            for method in ("HEAD", "OPTIONS", "GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"):
                if method.lower() in [
                    one.method for one in JSON_OPERATIONS.values() if one.path == operation.path
                ]:
                    continue
                answer = await service.client.request(
                    method, link if operation.path == "/verify-email" else path, headers=ada
                )
                if method == "OPTIONS" or (method == "HEAD" and operation.path in HEAD_PATHS):
                    assert (answer.status_code, answer.content) == (204 if method == "OPTIONS" else 200, b"")
                else:
                    assert answer.status_code == 405, (method, path)
                    assert operation.method.upper() in answer.headers["allow"].split(", ")
                    assert "OPTIONS" in answer.headers["allow"]
                    assert (answer.content == b"") == (method == "HEAD")

        assert (await user_of(service, ada))["emailVerified"] is False
        assert code(await service.get(link)) == "200"


@pytest.mark.threat("R40")
class TestUnknownPaths:
    """Paths and parameters that nobody has heard of."""

    PATHS = (
        "/nope", "/x/", "/index.html", "/.env", "/admin", "/favicon.png", "/sign-in", "/sign-in/", "/SIGN-IN/email",
        "/two-factor", "/get-session/x", "/reset-password/", "/callback/", "/\u20ac", "/%ff", "/%",
        "/sign-in/email;x", "/ok%20",
    )  # fmt: skip

    @pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD", "TRACE"])
    async def test_a_path_is_not_found_in_the_form_of_every_error(
        self, service: Service, method: str
    ) -> None:
        for path in self.PATHS:
            answer = await service.client.request(method, path)

            assert answer.status_code == 404, path
            assert answer.headers["content-type"] == "application/json"
            if method != "HEAD":
                assert refusal(answer) == (404, "NOT_FOUND", "Not found")

    async def test_a_parameter_is_ignored(self, service: Service) -> None:
        ada: Headers = await join(service)

        for query in (
            "x",
            "x=1&x=2",
            "=",
            "&&&",
            "x=%ff",
            "%ff=x",
            "x[]=1",
            "disablerefresh=maybe",
            "x=%00",
            "a=b;c=d",
        ):
            answer = await service.get(f"/get-session?{query}", headers=ada)
            assert answer.status_code == 200, query
