"""The referee itself: it lets right answers through and names what is wrong with the others."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from codegen.bundle import bundle
from tests.contract.conformance import CheckingTransport, Contract

INDEX = Path(__file__).parent / "doors" / "openapi.yaml"
CONTRACT = Contract(bundle(index=INDEX))
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "vary": "Origin",
    "x-request-id": "r1",
    "content-type": "application/json",
}
DOOR = b'{"id": "front", "openedAt": null, "width": 90, "frame": {"wood": "oak"}}'
NOT_FOUND = b'{"message": "Not found", "code": "NOT_FOUND"}'
NOT_ALLOWED = b'{"message": "Method not allowed", "code": "NOT_FOUND"}'


def check(
    method: str,
    path: str,
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    contract: Contract = CONTRACT,
) -> None:
    """Judge an answer whose headers are right but for `headers` (empty: missing)."""
    merged = HEADERS | (headers or {})
    contract.check(method, path, status, {name: value for name, value in merged.items() if value}, body)


class TestLetsThrough:
    @pytest.mark.parametrize(
        ("method", "path", "status", "body", "headers"),
        [
            ("GET", "/doors/front", 200, DOOR, {}),
            ("GET", "/doors/{door}", 200, DOOR, {}),
            ("GET", "/doors/front", 404, NOT_FOUND, {}),
            ("POST", "/open%2Ddoors", 200, b"[]", {}),
            ("OPTIONS", "/open-doors", 204, b"", {"content-type": ""}),
            ("HEAD", "/doors/front", 405, b"", {"allow": "GET"}),
            *(
                ("GET", path, 404, NOT_FOUND, {})
                for path in ("/nowhere", "/", "/doors/a%2Fb", "/doors/", "/doors/..", "//open-doors")
            ),
        ],
    )
    def test_what_is_documented(
        self, method: str, path: str, status: int, body: bytes, headers: dict[str, str]
    ) -> None:
        check(method, path, status, body, headers)

    def test_the_documents_of_the_service(self) -> None:
        CONTRACT.check("GET", "/openapi.json", 200, {}, b"{}")
        CONTRACT.check("GET", "/openapi-clients.json", 200, {}, b"{}")
        CONTRACT.check("GET", "/docs/swagger-ui.css", 200, {}, b"")


COMMON = ("cache-control", "x-content-type-options", "referrer-policy", "vary", "x-request-id")
"""The headers of every answer."""


class TestRefuses:
    @pytest.mark.parametrize(
        ("status", "body", "headers", "said"),
        [
            (201, DOOR, {}, r"documented are \[200, 404\]"),
            (200, DOOR, {"content-type": "text/plain"}, "'text/plain' instead of"),
            (200, b'{"id": "front", "openedAt": null, "width": 0}', {}, "width"),
            (200, b'{"id": "front", "openedAt": "yesterday", "width": 1}', {}, "date-time"),
            (200, b'{"id": "front", "openedAt": null, "width": 1, "frame": {}}', {}, "frame"),
            (200, b"{", {}, "no JSON"),
            (404, b'{"message": "Gone", "code": "GONE"}', {}, "GONE is not documented here"),
            (404, b'{"message": "No", "code": "NOT_FOUND", "fields": []}', {}, "VALIDATION_ERROR has fields"),
            (404, b'{"message": "No", "code": "VALIDATION_ERROR"}', {}, "VALIDATION_ERROR has fields"),
            (200, DOOR, {"server": "uvicorn"}, "Server header"),
            *((200, DOOR, {name: ""}, f"(?i){name}") for name in COMMON),
        ],
    )
    def test_another_answer_of_an_operation(
        self, status: int, body: bytes, headers: dict[str, str], said: str
    ) -> None:
        with pytest.raises(AssertionError, match=said):
            check("GET", "/doors/front", status, body, headers)

    @pytest.mark.parametrize(
        ("method", "path", "status", "body", "said"),
        [
            ("GET", "/nowhere", 200, b"{}", "this is a 404"),
            ("GET", "/nowhere", 404, b'{"message": "Gone", "code": "GONE"}', "the code is NOT_FOUND"),
            ("DELETE", "/open-doors", 405, NOT_ALLOWED, "Allow"),
            ("OPTIONS", "/open-doors", 200, b"{}", "empty 204"),
        ],
    )
    def test_another_answer_where_there_is_no_operation(
        self, method: str, path: str, status: int, body: bytes, said: str
    ) -> None:
        with pytest.raises(AssertionError, match=said):
            check(method, path, status, body)


class TestBasePath:
    contract = Contract(bundle(index=INDEX, base_path="/api/auth"))

    def test_operations_lie_under_it(self) -> None:
        check("GET", "/api/auth/doors/front", 200, DOOR, contract=self.contract)

    def test_bare_paths_are_unknown(self) -> None:
        check("GET", "/doors/front", 404, NOT_FOUND, contract=self.contract)

        with pytest.raises(AssertionError, match="this is a 404"):
            check("GET", "/doors/front", 200, DOOR, contract=self.contract)


class Doors(httpx.AsyncBaseTransport):
    """A service with one door, as wide as the query says."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        width = request.url.params["width"]
        return httpx.Response(200, headers=HEADERS, content=DOOR.replace(b"90", width.encode()))


class TestTransport:
    @pytest.fixture
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = CheckingTransport(Doors(), CONTRACT)
        async with httpx.AsyncClient(transport=transport, base_url="http://doors.test") as client:
            yield client

    async def test_hands_on_what_is_right(self, client: httpx.AsyncClient) -> None:
        answer = await client.get("/doors/front", params={"width": "7"})

        assert answer.json()["width"] == 7

    async def test_stops_what_is_wrong(self, client: httpx.AsyncClient) -> None:
        with pytest.raises(AssertionError, match="width"):
            await client.get("/doors/front", params={"width": "-7"})
