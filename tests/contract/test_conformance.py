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

    def test_a_template_in_place_of_a_path(self) -> None:
        check("GET", "/doors/{door}", 200, DOOR)

    def test_a_documented_refusal(self) -> None:
        check("GET", "/doors/front", 404, NOT_FOUND)

    @pytest.mark.parametrize(
        "path", ["/nowhere", "/", "/doors/a%2Fb", "/doors/", "/doors/..", "//open-doors"]
    )
    def test_not_found_for_an_unknown_path(self, path: str) -> None:
        check("GET", path, 404, NOT_FOUND)

    def test_an_encoded_path(self) -> None:
        check("POST", "/open%2Ddoors", 200, b"[]")

    def test_an_empty_answer_to_options(self) -> None:
        check("OPTIONS", "/open-doors", 204, b"", {"content-type": ""})

    def test_an_empty_405_to_head(self) -> None:
        check("HEAD", "/doors/front", 405, b"", {"allow": "GET"})

    def test_the_documents_of_the_service(self) -> None:
        CONTRACT.check("GET", "/openapi.json", 200, {}, b"{}")
        CONTRACT.check("GET", "/openapi-clients.json", 200, {}, b"{}")
        CONTRACT.check("GET", "/docs/swagger-ui.css", 200, {}, b"")


class TestRefuses:
    def test_an_undocumented_status(self) -> None:
        with pytest.raises(AssertionError, match=r"documented are \[200, 404\]"):
            check("GET", "/doors/front", 201, DOOR)

    def test_another_media_type(self) -> None:
        with pytest.raises(AssertionError, match="'text/plain' instead of"):
            check("GET", "/doors/front", 200, DOOR, {"content-type": "text/plain"})

    def test_a_body_that_does_not_validate(self) -> None:
        with pytest.raises(AssertionError, match="width"):
            check("GET", "/doors/front", 200, b'{"id": "front", "openedAt": null, "width": 0}')

    def test_a_format_that_does_not_hold(self) -> None:
        with pytest.raises(AssertionError, match="date-time"):
            check("GET", "/doors/front", 200, b'{"id": "front", "openedAt": "yesterday", "width": 1}')

    def test_a_body_that_is_no_json(self) -> None:
        with pytest.raises(AssertionError, match="no JSON"):
            check("GET", "/doors/front", 200, b"{")

    def test_an_undocumented_code(self) -> None:
        with pytest.raises(AssertionError, match="GONE is not documented here"):
            check("GET", "/doors/front", 404, b'{"message": "Gone", "code": "GONE"}')

    @pytest.mark.parametrize(("code", "fields"), [("NOT_FOUND", ', "fields": []'), ("VALIDATION_ERROR", "")])
    def test_fields_of_another_code_than_validation_error_or_none_of_it(self, code: str, fields: str) -> None:
        body = f'{{"message": "No", "code": "{code}"{fields}}}'

        with pytest.raises(AssertionError, match="VALIDATION_ERROR has fields"):
            check("GET", "/doors/front", 404, body.encode())

    @pytest.mark.parametrize(
        "name", ["cache-control", "x-content-type-options", "referrer-policy", "vary", "x-request-id"]
    )
    def test_an_answer_without_a_common_header(self, name: str) -> None:
        with pytest.raises(AssertionError, match=f"(?i){name}"):
            check("GET", "/doors/front", 200, DOOR, {name: ""})

    def test_a_server_header(self) -> None:
        with pytest.raises(AssertionError, match="Server header"):
            check("GET", "/doors/front", 200, DOOR, {"server": "uvicorn"})

    def test_another_status_for_an_unknown_path(self) -> None:
        with pytest.raises(AssertionError, match="this is a 404"):
            check("GET", "/nowhere", 200, b"{}")

    def test_another_code_for_an_unknown_path(self) -> None:
        with pytest.raises(AssertionError, match="the code is NOT_FOUND"):
            check("GET", "/nowhere", 404, b'{"message": "Gone", "code": "GONE"}')

    def test_a_405_without_allow(self) -> None:
        with pytest.raises(AssertionError, match="Allow"):
            check("DELETE", "/open-doors", 405, NOT_ALLOWED)

    def test_a_body_for_options(self) -> None:
        with pytest.raises(AssertionError, match="empty 204"):
            check("OPTIONS", "/open-doors", 200, b"{}")


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
