"""What every answer carries, and what becomes of a handler's."""

import pytest

from tests.server.api.conftest import Peer
from tests.server.api.raw import ask


class TestEveryAnswer:
    @pytest.mark.parametrize(
        ("method", "target"),
        [
            ("GET", "/ok"),
            ("GET", "/nope"),
            ("POST", "/ok"),
            ("GET", "/crash"),
            ("GET", "/error"),
            ("OPTIONS", "/ok"),
        ],
    )
    async def test_carries_the_constant_headers(self, peer: Peer, method: str, target: str) -> None:
        answer = await ask(peer.app, method, target)

        assert answer.header("cache-control") == "no-store"
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("vary") == "Origin"

    async def test_carries_its_own_random_request_id(self, peer: Peer) -> None:
        sent = [("x-request-id", "chosen by the client")]

        ids = {(await ask(peer.app, "GET", "/ok", sent)).header("x-request-id") for _ in range(10)}

        assert len(ids) == 10
        assert all(len(request_id or "") == 32 for request_id in ids)
