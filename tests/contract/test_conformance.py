"""The referee itself: it lets right answers through and names what is wrong with the others."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from codegen.bundle import bundle
from tests.contract.conformance import CheckingTransport, Contract

INDEX = Path(__file__).parent.parent / "codegen" / "contract" / "openapi.yaml"
CONTRACT = Contract(bundle(index=INDEX))
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "vary": "Origin",
    "x-request-id": "r1",
    "content-type": "application/json",
}
DOOR = b'{"id": "front", "openedAt": null, "width": 90}'
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
    def test_an_answer_as_documented(self) -> None:
        check("GET", "/doors/front", 200, DOOR)

    def test_the_documents_of_the_service(self) -> None:
        CONTRACT.check("GET", "/openapi.json", 200, {}, b"{}")
        CONTRACT.check("GET", "/docs/swagger-ui.css", 200, {}, b"")


class TestRefuses:
    @pytest.mark.parametrize(
        ("asked", "status", "body", "told"),
        [
            ("GET /doors/front", 201, DOOR, r"documented are \[200, 404\]"),
            ("GET /doors/front", 200, DOOR.replace(b"90", b"0"), "width"),
            ("GET /doors/front", 200, DOOR.replace(b"null", b'"yesterday"'), "date-time"),
            ("GET /doors/front", 200, b"{", "no JSON"),
            ("GET /doors/front", 404, b'{"message": "Gone", "code": "GONE"}', "GONE is not documented here"),
            ("GET /doors/front", 404, NOT_FOUND[:-1] + b', "fields": []}', "VALIDATION_ERROR has fields"),
            ("GET /doors/front", 404, NOT_FOUND.replace(b"NOT_FOUND", b"VALIDATION_ERROR"), "has fields"),
            ("GET /nowhere", 200, b"{}", "this is a 404"),
            ("GET /nowhere", 404, b'{"message": "Gone", "code": "GONE"}', "the code is NOT_FOUND"),
            ("DELETE /open-doors", 405, NOT_ALLOWED, "Allow"),
            ("OPTIONS /open-doors", 200, b"{}", "empty 204"),
        ],
    )
    def test_what_is_not_documented(self, asked: str, status: int, body: bytes, told: str) -> None:
        method, path = asked.split()

        with pytest.raises(AssertionError, match=told):
            check(method, path, status, body)

    @pytest.mark.parametrize(
        ("header", "value"),
        [
            ("content-type", "text/plain"),
            ("server", "uvicorn"),
            *((name, "") for name in HEADERS if name != "content-type"),
        ],
    )
    def test_a_header_that_is_wrong_or_missing(self, header: str, value: str) -> None:
        with pytest.raises(AssertionError, match=f"(?i){value if header == 'content-type' else header}"):
            check("GET", "/doors/front", 200, DOOR, {header: value})


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
