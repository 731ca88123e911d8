"""The documents of the service: its name and version, the OpenAPI document and its variant for clients, Swagger UI."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send

from codegen.client_forms import client_forms
from domain import tokens
from domain.errors import MethodNotAllowed, Refusal
from domain.trusted_origins import TrustedOrigins
from handlers.reply import Header
from server.api import cors as api_cors
from server.api import responses
from server.api.errors import ErrorResponse, render, render_refusal
from server.api.headers import RequestHeaders
from server.api.request import check_size
from server.api.routing import check_separators

METHODS = "GET, HEAD, OPTIONS"

_ALWAYS: tuple[Header, ...] = (
    # Unlike any other answer a document holds nothing of anybody, and is large: it may be kept, and is
    # asked about each time, which the ETag makes cheap.
    (b"cache-control", b"no-cache"),
    *(header for header in responses.DEFAULT_HEADERS if header[0] != b"cache-control"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
"""With every document. Swagger UI styles elements in place, so inline styles are allowed; nothing may come from
another host."""

JSON, HTML, SCRIPT, STYLE = (
    b"application/json",
    b"text/html; charset=utf-8",
    b"text/javascript; charset=utf-8",
    b"text/css; charset=utf-8",
)


def _folder(package: str) -> Path:
    """Return the folder of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    return Path(spec.origin).parent


# A package for Flask, of which only the files are used: it is released with each version of Swagger UI.
_SWAGGER_UI = _folder("flask_swagger_ui") / "dist"
_TEMPLATES = Path(__file__).parents[1] / "templates" / "docs"

FILES: dict[str, tuple[Path, bytes]] = {
    "/favicon.ico": (_TEMPLATES / "favicon.ico", b"image/x-icon"),
    "/docs": (_TEMPLATES / "page.html", HTML),
    "/docs/start.js": (_TEMPLATES / "start.js", SCRIPT),
    "/docs/page.css": (_TEMPLATES / "page.css", STYLE),
    "/docs/swagger-ui.css": (_SWAGGER_UI / "swagger-ui.css", STYLE),
    "/docs/swagger-ui-bundle.js": (_SWAGGER_UI / "swagger-ui-bundle.js", SCRIPT),
}
"""The files, with their media types. The page at /docs refers to them relative to its own URL."""


@dataclass(frozen=True, slots=True)
class Document:
    """One answer, prepared before it is first sent."""

    body: bytes
    etag: bytes
    headers: tuple[Header, ...]


def prepared(body: bytes, media_type: bytes, *headers: Header) -> Document:
    """Return a body with its strong ETag and the headers of its 200."""
    etag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
    return Document(body, etag, ((b"content-type", media_type), (b"etag", etag), *headers))


@cache
def _file(path: Path, media_type: bytes) -> Document:
    """Return a file as a document; most services are never asked for these 1.5 MB, so they are read when they are."""
    return prepared(path.read_bytes(), media_type)


class Documents:
    """An ASGI application for its few paths; whoever mounts it asks `matches` first.

    `document` is the contract as it is to be published; `base_path` is empty, or `/…` without a last slash. Pages of
    `trusted` origins may read the answers; `max_body` is in bytes; `files` are read when they are first asked for.
    Requests go through the same checks as in the pipeline.
    """

    def __init__(
        self,
        document: dict[str, Any],
        base_path: str,
        trusted: TrustedOrigins,
        max_body: int,
        files: Mapping[str, tuple[Path, bytes]] = FILES,
    ) -> None:
        self._base_path = base_path
        self._roots = frozenset({base_path or "/", f"{base_path}/"})
        self._path = f"{base_path}/openapi.json"
        self._for_clients = f"{base_path}/openapi-clients.json"
        self._moved = f"{base_path}/docs/"
        self._contract = prepared(orjson.dumps(document), JSON)
        self._files = {base_path + path: file for path, file in files.items()}
        self._cors_of = api_cors.cors(trusted)
        self._max_body = max_body

    def matches(self, path: str) -> bool:
        """Return whether a decoded request path (base path included) is one of the documents."""
        return (
            path in self._files or path in self._roots or path in (self._path, self._for_clients, self._moved)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with 200, 302 to /docs/, 304 to a known ETag, 204 to OPTIONS, 405 to other methods."""
        request_id, head = tokens.request_id(), RequestHeaders(scope["headers"])
        cors = self._cors_of(head)
        try:
            rendered = self._answer(scope, head, is_preflight=api_cors.is_preflight(head, cors))
        except Refusal as refusal:
            rendered = render_refusal(refusal)
        except OSError as error:  # The program was replaced, or is incomplete.
            rendered = render(error, request_id)
        always = _ALWAYS if rendered[0] in (200, 304) else responses.DEFAULT_HEADERS
        await responses.send_answer(scope, send, rendered, request_id, cors, always=always)

    def _answer(self, scope: Scope, head: RequestHeaders, *, is_preflight: bool) -> ErrorResponse:
        method = scope["method"]
        check_separators(scope)
        if method == "OPTIONS":
            return responses.options(METHODS, is_preflight=is_preflight)
        if method not in ("GET", "HEAD"):
            status, headers, body = render_refusal(MethodNotAllowed())
            return status, (*headers, (b"allow", METHODS.encode())), body
        check_size(scope, head, self._max_body)
        if scope["path"] == self._moved:
            return 302, ((b"location", b"../docs"),), b""
        document = self._document(scope["path"], head)
        if _is_known(document.etag, head):
            return 304, ((b"etag", document.etag),), b""
        return 200, document.headers, document.body

    def _document(self, path: str, head: RequestHeaders) -> Document:
        if path in self._roots:
            return self._page if b"text/html" in b",".join(head.every(b"accept")) else self._root
        if path == self._for_clients:
            return self._contract_for_clients
        return self._contract if path == self._path else _file(*self._files[path])

    @cached_property
    def _root(self) -> Document:
        body = orjson.dumps({"name": "Gatewright", "version": version("gatewright")})
        return prepared(body, JSON, (b"vary", b"Accept"))

    @cached_property
    def _page(self) -> Document:
        page = (_TEMPLATES / "index.html").read_text("utf-8")
        page = page.replace("{{ base_path }}", self._base_path).replace(
            "{{ version }}", version("gatewright")
        )
        return prepared(page.encode(), HTML, (b"vary", b"Accept"))

    @cached_property
    def _contract_for_clients(self) -> Document:
        """Return the variant for client generators, created when it is first requested."""
        contract = orjson.loads(self._contract.body)
        return prepared(orjson.dumps(client_forms(contract)), JSON)


def _is_known(etag: bytes, head: RequestHeaders) -> bool:
    """Whether If-None-Match names the ETag, weakly or strongly (RFC 9110, 13.1.2)."""
    listed = b",".join(head.every(b"if-none-match"))
    tags = {tag.strip().removeprefix(b"W/") for tag in listed.split(b",")}
    return etag in tags or b"*" in tags
