"""Addresses and methods (behaviour 1.1, 1.2, 1.3 step 1)."""

import pytest

from tests.server.api.conftest import MakePeer, Peer
from tests.server.api.raw import ask


class TestPaths:
    @pytest.mark.parametrize("path", ["/ok", "/%6Fk", "/sign-in/%65mail"])
    async def test_match_after_percent_decoding(self, peer: Peer, path: str) -> None:
        answer = await ask(peer.app, "GET", path)

        assert answer.status in (200, 405)

    @pytest.mark.parametrize(
        "path",
        [
            "/nope",
            "/ok/",
            "//ok",
            "/./ok",
            "/x/../ok",
            "/OK",
            "/ok;x",
            "/sign-in%2Femail",
            "/sign-in%5Cemail",
            "/sign-in//email",
            "/reset-password/",
            "/reset-password/a/b",
            "/reset-password/a%2Fb",
            "/reset-password/a%5cb",
            "/reset-password/..",
            "/reset-password/%2e%2E",
            "/reset-password/.",
            "",
        ],
    )
    async def test_anything_else_is_not_found(self, peer: Peer, path: str) -> None:
        answer = await ask(peer.app, "GET", path)

        assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")

    async def test_a_template_takes_one_segment_decoded(self, peer: Peer) -> None:
        answer = await ask(peer.app, "GET", "/reset-password/a%20%00b%252F")

        assert answer.json == {"token": "a \0b%2F"}

    async def test_everything_moves_under_the_base_path(self, make_peer: MakePeer) -> None:
        peer = make_peer(base_path="/api/auth")

        assert (await peer.get("/api/auth/ok")).status_code == 200
        assert (await peer.get("/api/auth/reset-password/abc")).json() == {"token": "abc"}
        assert (await peer.get("/ok")).status_code == 404

    async def test_operations_that_are_switched_off_do_not_exist(self, make_peer: MakePeer) -> None:
        peer = make_peer(disabled=frozenset({"sessions.revoke", "passwords.check_reset_token"}))

        answers = [
            await peer.post("/revoke-session"),
            await peer.get("/revoke-session"),
            await peer.http.options("/revoke-session"),
            await peer.get("/reset-password/abc"),
        ]

        assert [answer.status_code for answer in answers] == [404] * 4
        assert (await peer.post("/revoke-sessions")).status_code == 401


class TestMethods:
    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "TRACE", "PATCH", "HEAD", "BREW"])
    async def test_others_are_refused_with_allow(self, peer: Peer, method: str) -> None:
        answer = await ask(peer.app, method, "/sign-in/email")

        assert (answer.status, answer.header("allow")) == (405, "POST, OPTIONS")
        assert method == "HEAD" or answer.json["code"] == "METHOD_NOT_ALLOWED"

    @pytest.mark.parametrize("path", ["/ok", "/error"])
    async def test_head_answers_like_get_without_a_body(self, peer: Peer, path: str) -> None:
        answer, like = await ask(peer.app, "HEAD", path), await ask(peer.app, "GET", path)

        assert (answer.status, answer.body) == (200, b"")
        assert answer.header("content-length") == str(len(like.body))

    @pytest.mark.parametrize("path", ["/get-session", "/reset-password/abc", "/verify-email"])
    async def test_head_uses_up_no_token(self, peer: Peer, path: str) -> None:
        answer = await ask(peer.app, "HEAD", path)

        assert (answer.status, answer.body, peer.memory.calls) == (405, b"", [])

    async def test_options_says_what_is_allowed(self, peer: Peer) -> None:
        answer = await ask(peer.app, "OPTIONS", "/ok")

        assert (answer.status, answer.body, answer.header("allow")) == (204, b"", "GET, HEAD, OPTIONS")

    async def test_options_of_an_unknown_path_is_not_found(self, peer: Peer) -> None:
        assert (await ask(peer.app, "OPTIONS", "/nope")).status == 404
