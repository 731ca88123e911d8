"""The contract and its reading room, as a browser meets them."""

import re
from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.client_forms import client_forms
from codegen.operation_ids import flat_ids
from codegen.walk import operations
from server.api.files.documents import FILES, Documents
from tests.contract.reading import OPERATIONS
from tests.policies import policy

BASE_PATHS = pytest.mark.parametrize("base_path", ["", "/api/auth"])


def served(
    base_path: str = "", files: Mapping[str, tuple[Path, bytes]] = FILES, **settings: Any
) -> Documents:
    """The documents of a service with these settings."""
    chosen = policy(
        base_url="http://auth.test", base_path=base_path, trusted_origins=("https://app.test",), **settings
    )
    return Documents(lambda: flat_ids(bundle(base_path=base_path)), chosen, 65536, files)


def client(documents: Documents) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(documents), base_url="http://auth.test")


@pytest.fixture
def base_path() -> str:
    """The root, where a test names no other."""
    return ""


@pytest.fixture
async def browser(base_path: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the documents under the base path."""
    async with client(served(base_path)) as browser:
        yield browser


def without_id(headers: httpx.Headers) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "x-request-id"}


@BASE_PATHS
class TestUnderAnyBasePath:
    def test_nothing_else_does(self, base_path: str) -> None:
        documents = served(base_path)

        assert not documents.matches(f"{base_path}/docs/no-such.js")
        assert documents.matches("/") == (base_path == "")
        assert not documents.matches(f"{base_path}/docs/../openapi.json")
        assert not documents.matches("/ok")
        assert documents.matches("/docs") == (base_path == "")

    async def test_the_contract_is_published_with_flat_ids_and_for_generators_of_clients(
        self, browser: httpx.AsyncClient, base_path: str
    ) -> None:
        answers = [await browser.get(f"{base_path}/{name}.json") for name in ("openapi", "openapi-clients")]

        contract, for_clients = [answer.json() for answer in answers]
        assert [answer.headers["content-type"] for answer in answers] == ["application/json"] * 2
        assert contract["servers"] == for_clients["servers"] == [{"url": base_path or "/"}]
        found = {operation.spec["operationId"] for operation in operations(contract)}
        assert found == {operation_id.replace(".", "_") for operation_id in OPERATIONS}
        assert contract == flat_ids(bundle(base_path=base_path))
        assert for_clients == client_forms(contract)

    async def test_the_page_loads_only_what_is_here_and_shows_the_contract_to_no_validator(
        self, browser: httpx.AsyncClient, base_path: str
    ) -> None:
        page = (await browser.get(f"{base_path}/docs")).text
        addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
        parts = [await browser.get(urljoin(f"{base_path}/docs", address)) for address in addresses]
        start = (await browser.get(f"{base_path}/docs/start.js")).text

        assert "http" not in page
        assert len(parts) == 5
        assert all(part.status_code == 200 and part.content for part in parts)
        assert "validatorUrl: null" in start

    @pytest.mark.parametrize("end", ["", "/"])
    async def test_the_root_says_what_this_is_and_has_an_icon(
        self, browser: httpx.AsyncClient, base_path: str, end: str
    ) -> None:
        root = await browser.get(f"{base_path}{end}")
        page = await browser.get(f"{base_path}{end}", headers={"accept": "text/html,*/*;q=0.8"})

        assert root.json() == {"name": "Gatewright", "version": version("gatewright")}
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert f"Gatewright {version('gatewright')}" in page.text
        links = {link.removeprefix(base_path) for link in re.findall(r'<a[^>]* href="(/[^"]+)"', page.text)}
        assert links >= {"/docs", "/openapi.json", "/openapi-clients.json", "/ok", "/ready"}
        assert links >= {"/account", "/account/sign-in", "/account/sign-up"}
        assert root.headers["vary"] == "Origin, Accept"
        assert page.headers["vary"] == "Origin, Accept, Accept-Language"
        assert page.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        icon = await browser.get(f"{base_path}/favicon.ico")
        assert (icon.headers["content-type"], icon.content[:4]) == ("image/x-icon", b"\0\0\1\0")

    async def test_the_root_speaks_the_language_of_the_browser(
        self, browser: httpx.AsyncClient, base_path: str
    ) -> None:
        page = await browser.get(base_path or "/", headers={"accept": "text/html", "accept-language": "ar"})

        assert '<html lang="ar" dir="rtl">' in page.text
        assert "Sign in" not in page.text

    async def test_the_path_with_a_slash_leads_to_the_page(
        self, browser: httpx.AsyncClient, base_path: str
    ) -> None:
        moved = await browser.get(f"{base_path}/docs/")
        page = await browser.get(f"{base_path}/docs/", follow_redirects=True)

        assert moved.status_code == 302
        assert (page.status_code, page.url.path) == (200, f"{base_path}/docs")


def test_the_document_for_generators_is_valid() -> None:
    validate(client_forms(flat_ids(bundle())))


class TestRoot:
    async def test_offers_no_way_in_where_pages_are_off(self) -> None:
        async with client(served(pages={"enabled": False})) as browser:
            page = await browser.get("/", headers={"accept": "text/html"})

        assert "This is an authentication server." in page.text
        assert "/account/sign" not in page.text

    async def test_a_broken_template_of_the_operator_is_a_rendered_error(self, tmp_path: Path) -> None:
        (tmp_path / "root.html").write_text("{{ nothing.of_the_kind }}")
        async with client(served(pages={"templates_dir": tmp_path})) as browser:
            page = await browser.get("/", headers={"accept": "text/html"})

        assert (page.status_code, page.json()["code"]) == (500, "INTERNAL_SERVER_ERROR")


class TestFiles:
    async def test_one_that_is_gone_is_a_rendered_error(self, tmp_path: Path) -> None:
        gone = {"/docs/page.css": (tmp_path / "page.css", b"text/css")}

        async with client(served(files=gone)) as browser:
            answer = await browser.get("/docs/page.css")

        assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL_SERVER_ERROR")


class TestAnswers:
    @pytest.mark.parametrize(
        "path", ["/openapi.json", "/openapi-clients.json", "/docs", "/docs/swagger-ui.css"]
    )
    async def test_a_known_etag_is_not_answered_again(self, browser: httpx.AsyncClient, path: str) -> None:
        etag = (await browser.get(path)).headers["etag"]
        assert (await browser.get(path, headers={"if-none-match": '"old"'})).status_code == 200
        for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            again = await browser.get(path, headers={"if-none-match": known})

            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == etag
            assert again.headers["cache-control"] == "no-cache"
            assert "content-length" not in again.headers

    async def test_head_says_what_get_would_say_and_options_the_methods(
        self, browser: httpx.AsyncClient
    ) -> None:
        head, get, options = [await browser.request(method, "/docs") for method in ("HEAD", "GET", "OPTIONS")]

        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(get.content))
        assert without_id(head.headers) == without_id(get.headers)
        assert (options.status_code, options.content) == (204, b"")
        assert options.headers["allow"] == "GET, HEAD, OPTIONS"

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE"])
    async def test_other_methods_are_refused(self, browser: httpx.AsyncClient, method: str) -> None:
        answer = await browser.request(method, "/docs")

        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
        assert answer.headers["cache-control"] == "no-store"
        assert "content-security-policy" not in answer.headers
        assert answer.json() == {"message": "Method not allowed", "code": "METHOD_NOT_ALLOWED"}

    @pytest.mark.parametrize("path", ["/openapi.json", "/openapi-clients.json", "/docs", "/docs/start.js"])
    async def test_every_answer_forbids_what_is_not_needed(
        self, browser: httpx.AsyncClient, path: str
    ) -> None:
        headers = (await browser.get(path)).headers

        assert headers["cache-control"] == "no-cache"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "http" not in headers["content-security-policy"]


class TestRules:
    """What the pipeline holds every request to, holds here as well."""

    @pytest.mark.parametrize("target", ["/docs%2Fstart.js", "/docs%2fstart.js", "/docs%2Fswagger-ui.css"])
    @pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
    async def test_an_encoded_separator_is_none(
        self, browser: httpx.AsyncClient, method: str, target: str
    ) -> None:
        answer = await browser.request(method, target)

        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
        assert answer.headers["cache-control"] == "no-store"

    async def test_long_targets_many_headers_and_large_bodies_are_refused(
        self, browser: httpx.AsyncClient
    ) -> None:
        fits = await browser.get("/docs?" + "x" * (8192 - len("/docs?")))
        longer = await browser.get("/docs?" + "x" * (8193 - len("/docs?")))
        wide = await browser.get("/docs", headers={"x-much": "x" * 16384})
        large = await browser.get("/docs", headers={"content-length": "65537"})

        assert (fits.status_code, wide.status_code, large.status_code) == (200, 431, 413)
        assert (longer.status_code, longer.json()["code"]) == (414, "URI_TOO_LONG")
        assert (longer.headers["cache-control"], longer.headers["connection"]) == ("no-store", "close")

    @pytest.mark.parametrize(
        ("method", "target", "known"),
        [
            ("GET", "/openapi.json", ""),
            ("GET", "/openapi.json", "*"),
            ("HEAD", "/docs", ""),
            ("POST", "/docs", ""),
            ("OPTIONS", "/docs", ""),
            ("GET", "/docs%2Fstart.js", ""),
        ],
    )
    async def test_every_answer_has_an_id_and_tells_caches_of_the_origin(
        self, browser: httpx.AsyncClient, method: str, target: str, known: str
    ) -> None:
        answers = [await browser.request(method, target, headers={"if-none-match": known}) for _ in range(2)]

        assert [answer.headers["vary"] for answer in answers] == ["Origin"] * 2
        ids = {answer.headers["x-request-id"] for answer in answers}
        assert [len(each) for each in ids] == [32, 32]

    async def test_pages_of_trusted_origins_may_read_it(self, browser: httpx.AsyncClient) -> None:
        trusted = await browser.get("/openapi.json", headers={"origin": "https://app.test"})
        foreign = await browser.get("/openapi.json", headers={"origin": "https://evil.test"})
        asking = await browser.options(
            "/openapi.json",
            headers={"origin": "https://app.test", "access-control-request-method": "GET"},
        )

        assert trusted.headers["access-control-allow-origin"] == "https://app.test"
        assert "access-control-allow-origin" not in foreign.headers
        assert asking.headers["access-control-allow-methods"] == "GET, POST"
