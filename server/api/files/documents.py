"""Documents about the service: its name and version, the OpenAPI document, its variant for clients, and Swagger UI."""

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from codegen.client_forms import client_forms
from domain import tokens
from domain.context import PageRequest
from domain.policy import Policy
from handlers.pages import root
from handlers.responses.reply import Header, Page
from server.api import cors as api_cors
from server.api import responses
from server.api.errors import ErrorResponse, render
from server.api.headers import RequestHeaders
from server.api.request import check_size
from server.api.routing import check_separators

METHODS = "GET, HEAD, OPTIONS"

_ALWAYS: tuple[Header, ...] = (
    # Unlike any other response, a document holds no user's data, and it is large: clients may store it, and
    # revalidate it each time, which is cheap with the ETag.
    (b"cache-control", b"no-cache"),
    *(header for header in responses.DEFAULT_HEADERS if header[0] != b"cache-control"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
"""Headers of every document. Swagger UI sets inline styles, so these are allowed; nothing may come from another
host."""

JSON, HTML, SCRIPT, STYLE = (
    b"application/json",
    b"text/html; charset=utf-8",
    b"text/javascript; charset=utf-8",
    b"text/css; charset=utf-8",
)

_TEMPLATES = Path(__file__).parents[2] / "templates" / "docs"

FILES: dict[str, tuple[Path, bytes]] = {
    "/favicon.ico": (_TEMPLATES / "favicon.ico", b"image/x-icon"),
    "/docs": (_TEMPLATES / "page.html", HTML),
    "/docs/start.js": (_TEMPLATES / "start.js", SCRIPT),
    "/docs/page.css": (_TEMPLATES / "page.css", STYLE),
    "/docs/swagger-ui.css": (_TEMPLATES / "swagger-ui.css", STYLE),
    "/docs/swagger-ui-bundle.js": (_TEMPLATES / "swagger-ui-bundle.js", SCRIPT),
}
"""The files and their media types; codegen/build_wheel.py adds those of Swagger UI. The page at /docs refers to them by
relative URLs."""


_ROOT = "root"
"""The key of the document at the root. It is not a path, because the same path also has a page for browsers."""


class Document(NamedTuple):
    """The body of a document, its strong ETag, and the headers of its 200 response."""

    body: bytes
    etag: bytes
    headers: tuple[Header, ...]


class Documents:
    """An ASGI application that serves the documents; the caller checks `matches` first.

    `document` returns the published contract. The contract and the `files` are read when they are first requested.
    Pages of trusted origins may read the responses. A request that announces a body of more than `max_body` bytes is
    refused.
    """

    def __init__(
        self,
        document: Callable[[], dict[str, Any]],
        policy: Policy,
        max_body: int,
        files: Mapping[str, tuple[Path, bytes]] = FILES,
    ) -> None:
        base_path = policy.base_path
        sources: dict[str, tuple[Callable[[], bytes], bytes]] = {
            "/openapi.json": (lambda: orjson.dumps(document()), JSON),
            "/openapi-clients.json": (lambda: orjson.dumps(client_forms(document())), JSON),
            **{path: (file.read_bytes, media_type) for path, (file, media_type) in files.items()},
        }
        self._sources = {base_path + path: source for path, source in sources.items()}
        self._roots = frozenset({base_path or "/", f"{base_path}/"})
        self._moved = f"{base_path}/docs/"
        self._paths = frozenset({*self._sources, *self._roots, self._moved})
        self._sources[_ROOT] = (_name_and_version, JSON)
        self._document = cache(self._read)
        self._policy = policy
        self._cors_of = api_cors.cors(policy.origins)
        self._max_body = max_body

    def matches(self, path: str) -> bool:
        """Return whether a decoded request path (base path included) is one of the documents."""
        return path in self._paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with a document (200), a redirect from /docs/ to /docs (302), 304 for a known ETag, 204 for OPTIONS,
        or 405 for other methods."""
        request_id, head = tokens.request_id(), RequestHeaders(scope["headers"])
        cors, is_page = self._cors_of(head), self._is_page(scope, head)
        try:
            rendered = self._answer(
                scope, head, is_preflight=api_cors.is_preflight(head, cors), is_page=is_page
            )
        # A file may be missing after the program was replaced; a template may be the operator's and invalid.
        except Exception as error:
            rendered = render(error, request_id)
        always = responses.DEFAULT_HEADERS
        if rendered[0] in (200, 304):
            always = responses.PAGE_HEADERS if is_page else _ALWAYS
        await responses.send_answer(scope, send, rendered, request_id, cors, always=always)

    def _is_page(self, scope: Scope, head: RequestHeaders) -> bool:
        """Return whether the page is requested: the root serves a page to browsers, and JSON to other clients."""
        return scope["path"] in self._roots and b"text/html" in b",".join(head.every(b"accept"))

    def _answer(
        self, scope: Scope, head: RequestHeaders, *, is_preflight: bool, is_page: bool
    ) -> ErrorResponse:
        check_separators(scope)
        if scope["method"] == "OPTIONS":
            return responses.options(METHODS, is_preflight=is_preflight)
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": METHODS})
        check_size(scope, head, self._max_body)
        if scope["path"] == self._moved:
            # A relative URL: the service does not know under which host and path a proxy publishes it.
            return 302, ((b"location", b"../docs"),), b""
        if is_page:
            status, headers, body = responses.answer(self._root_page(head), scope["method"], head)
            return status, (*headers, (b"vary", b"Accept, Accept-Language")), body
        document = self._document(_ROOT if scope["path"] in self._roots else scope["path"])
        if responses.is_known(document.etag, head):
            return 304, ((b"etag", document.etag),), b""
        return 200, document.headers, document.body

    def _root_page(self, head: RequestHeaders) -> Page:
        languages = b",".join(head.every(b"accept-language")).decode("latin-1")
        return root.page(self._policy, PageRequest(languages), version=version("gatewright"))

    def _read(self, name: str) -> Document:
        read, media_type = self._sources[name]
        body = read()
        etag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
        vary = ((b"vary", b"Accept"),) if name == _ROOT else ()
        return Document(body, etag, ((b"content-type", media_type), (b"etag", etag), *vary))


def _name_and_version() -> bytes:
    return orjson.dumps({"name": "Gatewright", "version": version("gatewright")})
