"""Addresses and methods."""

import pytest

from tests.server.api.conftest import Peer
from tests.server.api.raw import ask


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            "/nope",
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
