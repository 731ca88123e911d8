"""Bodies: media types, strict JSON, sizes."""

import json

import pytest

from tests.server.api.conftest import TOKEN, MakePeer, Peer
from tests.server.api.raw import ask

JSON = [("content-type", "application/json")]
GOOD = b'{"email":"ada@app.test","password":"p"}'
BEARER = [("authorization", f"Bearer {TOKEN}")]


async def sign_in(
    peer: Peer, raw: bytes, headers: list[tuple[str, str]] | None = None
) -> tuple[int, str | None]:
    answer = await ask(peer.app, "POST", "/sign-in/email", JSON if headers is None else headers, [raw])
    return answer.status, answer.json.get("code")


class TestMediaTypes:
    @pytest.mark.threat("V12")
    @pytest.mark.parametrize(
        "media_type",
        [
            "application/json",
            "APPLICATION/JSON",
            "application/json; charset=utf-8",
            'application/json ;charset="UTF-8"',
            "application/json;profile=x",
            "application/json ",
            "\tapplication/json; charset=utf-8\t",
        ],
    )
    async def test_json_is_taken(self, peer: Peer, media_type: str) -> None:
        assert await sign_in(peer, GOOD, [("content-type", media_type)]) == (200, None)

    @pytest.mark.threat("R31")
    @pytest.mark.threat("V12")
    @pytest.mark.parametrize(
        "media_type",
        [
            "application/json; charset=utf-16",
            "application/json, text/plain",
            "application/jsonp",
            "application/json; charset=latin-1",
            "application/json; charset=",
            "application/json\v",
            "application/json\f; charset=utf-8",
            "json",
            "",
            "\xff",
        ],
    )
    async def test_anything_else_is_not(self, peer: Peer, media_type: str) -> None:
        assert await sign_in(peer, GOOD, [("content-type", media_type)]) == (415, "UNSUPPORTED_MEDIA_TYPE")

    @pytest.mark.parametrize("headers", [[], [*JSON, ("content-type", "text/plain")]])
    async def test_none_and_two_are_not(self, peer: Peer, headers: list[tuple[str, str]]) -> None:
        assert await sign_in(peer, GOOD, headers) == (415, "UNSUPPORTED_MEDIA_TYPE")

    @pytest.mark.threat("R30")
    @pytest.mark.parametrize(
        ("codings", "status"),
        [
            (["gzip"], 415),
            (["gzip", "identity"], 415),
            (["identity", "gzip"], 415),
            (["identity, br"], 415),
            (["identity", "Identity"], 200),
            (["identity,IDENTITY"], 200),
            ([""], 200),
        ],
    )
    async def test_no_coding_of_a_body_is_taken(self, peer: Peer, codings: list[str], status: int) -> None:
        headers = [*JSON, *(("content-encoding", coding) for coding in codings)]

        assert (await sign_in(peer, GOOD, headers))[0] == status

    @pytest.mark.threat("R26")
    @pytest.mark.parametrize("headers", [[], JSON, [("content-type", "text/plain")]])
    async def test_an_empty_body_counts_as_an_empty_object(
        self, peer: Peer, headers: list[tuple[str, str]]
    ) -> None:
        answer = await ask(peer.app, "POST", "/sign-in/email", headers)

        assert answer.json["message"] == "[body.email] is required; [body.password] is required"

    async def test_operations_without_a_body_want_an_object_too(self, peer: Peer) -> None:
        async def revoke(raw: bytes, headers: list[tuple[str, str]]) -> int:
            return (await ask(peer.app, "POST", "/revoke-sessions", [*headers, *BEARER], [raw])).status

        assert [await revoke(b"", []), await revoke(b"{}", JSON), await revoke(b'{"x":1}', JSON)] == [200] * 3
        assert [await revoke(b"{}", []), await revoke(b"{", JSON), await revoke(b"[]", JSON)] == [
            415,
            400,
            400,
        ]

    async def test_a_body_on_get_is_ignored(self, peer: Peer) -> None:
        assert (await ask(peer.app, "GET", "/ok", [("content-type", "text/plain")], [b"\xff{"])).status == 200


class TestForm:
    async def test_is_taken_where_the_contract_says_so(self, peer: Peer) -> None:
        form = [("content-type", "application/x-www-form-urlencoded"), ("origin", "https://provider.test")]

        answer = await ask(peer.app, "POST", "/callback/acme", form, [b"state=a%2Bb&code=c"])

        assert (answer.status, answer.header("location")) == (303, "/callback/acme?state=a+b")

    @pytest.mark.parametrize("raw", [b"state=%ff", b"\xff=a", b"state=%00", b"code=x"])
    async def test_broken_ones_are_refused(self, peer: Peer, raw: bytes) -> None:
        form = [("content-type", "application/x-www-form-urlencoded")]

        assert (await ask(peer.app, "POST", "/callback/acme", form, [raw])).status == 400

    async def test_json_is_not_taken_there(self, peer: Peer) -> None:
        assert (await ask(peer.app, "POST", "/callback/acme", JSON, [b'{"state":"a"}'])).status == 415


class TestJson:
    @pytest.mark.threat("R32")
    async def test_nul_is_named_by_field(self, peer: Peer) -> None:
        raw = json.dumps(
            {"email": "a\0", "password": "\0", "scopes": ["\0"], "other\0": 1, "escaped": "\\u0000"}
        )

        answer = await ask(peer.app, "POST", "/sign-in/email", JSON, [raw.encode()])

        assert answer.json["message"].split("; ") == [
            "[body.email] must not contain U+0000",
            "[body.password] must not contain U+0000",
            "[body.scopes] must not contain U+0000",
            "[body] must not contain U+0000",
        ]

    async def test_an_escaped_backslash_is_no_nul(self, peer: Peer) -> None:
        assert await sign_in(peer, GOOD[:-1] + b',"note":"\\\\u0000"}') == (200, None)

    @pytest.mark.threat("R27")
    async def test_a_thousand_levels_in_a_field_fail_the_field(self, peer: Peer) -> None:
        raw = b'{"email":' + b"[" * 900 + b"]" * 900 + b',"scopes":' + b"[" * 90 + b"]" * 90 + b"}"

        answer = await ask(peer.app, "POST", "/sign-in/email", JSON, [raw])

        assert answer.json["message"] == (
            "[body.email] is nested too deeply; [body.password] is required; [body.scopes.0] must be a string"
        )


class TestSize:
    async def test_an_unannounced_one_is_refused_when_it_passes_the_limit(self, make_peer: MakePeer) -> None:
        peer = make_peer(max_body=100)
        pieces = iter([b" " * 30] * 50)

        answer = await ask(peer.app, "POST", "/sign-in/email", JSON, pieces)

        assert (answer.status, answer.header("connection")) == (413, "close")
        assert len(list(pieces)) > 40

    async def test_a_body_of_exactly_the_limit_is_read(self, peer: Peer) -> None:
        raw = GOOD + b" " * (65536 - len(GOOD))

        assert await sign_in(peer, raw, [*JSON, ("content-length", "65536")]) == (200, None)

    async def test_comes_before_authentication(self, peer: Peer) -> None:
        assert (await ask(peer.app, "POST", "/revoke-sessions", [], [b"x" * 40000] * 2)).status == 413

    @pytest.mark.threat("R34")
    async def test_a_target_over_8_kib_is_refused(self, peer: Peer) -> None:
        fits = "/ok?" + "x" * (8192 - 4)

        assert (await ask(peer.app, "GET", fits)).status == 200
        assert (await ask(peer.app, "GET", fits + "x")).json["code"] == "URI_TOO_LONG"
        assert (await ask(peer.app, "GET", "/reset-password/" + "x" * 9000)).status == 414
        assert (await ask(peer.app, "GET", "/nope?" + "x" * 9000)).status == 404

    @pytest.mark.threat("R34")
    async def test_headers_over_16_kib_are_refused(self, peer: Peer) -> None:
        room = 16384 - len("host: auth.test\r\n") - len("x: \r\n")

        assert (await ask(peer.app, "GET", "/ok", [("x", "a" * room)])).status == 200
        assert (await ask(peer.app, "GET", "/ok", [("x", "a" * (room + 1))])).json[
            "code"
        ] == "HEADERS_TOO_LARGE"
        assert (await ask(peer.app, "GET", "/ok", [("a", "b")] * 3300)).status == 431

    async def test_one_host_must_be_named(self, peer: Peer) -> None:
        assert (await ask(peer.app, "GET", "/ok", [("host", "other.test")])).status == 400


class TestHangUp:
    async def test_nobody_is_answered(self, peer: Peer) -> None:
        sent: list[object] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.disconnect"}

        async def send(message: object) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "http_version": "1.1",
            "path": "/sign-in/email",
            "raw_path": b"/sign-in/email",
            "query_string": b"",
            "headers": [(b"host", b"auth.test")],
        }
        await peer.app(scope, receive, send)

        assert (sent, peer.memory.calls) == ([], [])
