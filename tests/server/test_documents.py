"""The contract and its reading room, as a browser meets them."""

import re

import httpx
import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.flat_ids import flat_ids
from codegen.walk import operations
from server.documents import Documents
from tests.contract.reading import OPERATIONS

BASE_PATHS = pytest.mark.parametrize("base_path", ["", "/api/auth"])


def client(base_path: str = "") -> httpx.AsyncClient:
    documents = Documents(flat_ids(bundle(base_path=base_path)), base_path)
    return httpx.AsyncClient(transport=httpx.ASGITransport(documents), base_url="http://auth.test")


@BASE_PATHS
class TestUnderAnyBasePath:
    def test_the_documents_lie_under_it(self, base_path: str) -> None:
        documents = Documents(bundle(), base_path)

        assert documents.matches(f"{base_path}/openapi.json")
        assert documents.matches(f"{base_path}/docs")
        assert all(path.startswith(f"{base_path}/") for path in documents.paths)

    def test_nothing_else_does(self, base_path: str) -> None:
        documents = Documents(bundle(), base_path)

        assert not documents.matches(f"{base_path}/docs/")
        assert not documents.matches(f"{base_path}/docs/../openapi.json")
        assert not documents.matches("/ok")

    async def test_the_contract_is_published_with_flat_ids(self, base_path: str) -> None:
        async with client(base_path) as browser:
            answer = await browser.get(f"{base_path}/openapi.json")

        document = answer.json()
        assert answer.headers["content-type"] == "application/json"
        assert document["servers"] == [{"url": base_path or "/"}]
        found = {operation.spec["operationId"] for operation in operations(document)}
        assert found == {operation_id.replace(".", "_") for operation_id in OPERATIONS}
        validate(document)

    async def test_the_page_loads_only_what_is_here(self, base_path: str) -> None:
        async with client(base_path) as browser:
            page = (await browser.get(f"{base_path}/docs")).text
            addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
            parts = [await browser.get(address) for address in addresses]

        assert "http" not in page
        assert len(parts) == 4
        assert all(part.status_code == 200 and part.content for part in parts)

    async def test_the_page_reads_the_contract_of_this_service(self, base_path: str) -> None:
        async with client(base_path) as browser:
            start = (await browser.get(f"{base_path}/docs/start.js")).text

        assert f'url: "{base_path}/openapi.json"' in start
        assert "validatorUrl: null" in start


class TestAnswers:
    @pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/docs/swagger-ui.css"])
    async def test_a_known_etag_is_not_answered_again(self, path: str) -> None:
        async with client() as browser:
            etag = (await browser.get(path)).headers["etag"]
            for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
                again = await browser.get(path, headers={"if-none-match": known})

                assert (again.status_code, again.content) == (304, b"")
                assert again.headers["etag"] == etag

    async def test_an_old_etag_is_answered_with_the_document(self) -> None:
        async with client() as browser:
            answer = await browser.get("/openapi.json", headers={"if-none-match": '"old"'})

        assert answer.status_code == 200

    async def test_head_says_what_get_would_say(self) -> None:
        async with client() as browser:
            head, get = await browser.head("/docs"), await browser.get("/docs")

        assert (head.status_code, head.content) == (200, b"")
        assert head.headers == get.headers

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE"])
    async def test_other_methods_are_refused(self, method: str) -> None:
        async with client() as browser:
            answer = await browser.request(method, "/docs")

        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
        assert answer.json() == {"message": "Method not allowed", "code": "METHOD_NOT_ALLOWED"}

    async def test_options_names_the_methods(self) -> None:
        async with client() as browser:
            answer = await browser.options("/docs")

        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"

    @pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/docs/start.js"])
    async def test_every_answer_forbids_what_is_not_needed(self, path: str) -> None:
        async with client() as browser:
            headers = (await browser.get(path)).headers

        assert headers["cache-control"] == "no-cache"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "http" not in headers["content-security-policy"]
