"""The service's own documents, served from memory: the contract at /openapi.json, Swagger UI at /docs."""

import hashlib
from dataclasses import dataclass
from html import escape
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send
from swagger_ui_bundle import swagger_ui_path

from domain.errors import MethodNotAllowed

Header = tuple[bytes, bytes]

METHODS = b"GET, HEAD, OPTIONS"
COMMON: tuple[Header, ...] = (
    (b"cache-control", b"no-cache"),  # To be kept, and asked about each time: the ETag makes that cheap.
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
"""Swagger UI styles elements in place, so inline styles are allowed; nothing may come from another host."""

STATIC = {
    "swagger-ui.css": b"text/css; charset=utf-8",
    "swagger-ui-bundle.js": b"text/javascript; charset=utf-8",
    "favicon-32x32.png": b"image/png",
}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{base_path}/docs/swagger-ui.css">
<link rel="icon" type="image/png" href="{base_path}/docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{base_path}/docs/swagger-ui-bundle.js"></script>
<script src="{base_path}/docs/start.js"></script>
</body>
</html>
"""

START = b"""SwaggerUIBundle({
  url: %s,
  dom_id: "#swagger-ui",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
"""
"""`validatorUrl: null` keeps the page from showing the contract to a validator elsewhere."""


@dataclass(frozen=True, slots=True)
class Document:
    """One answer, prepared at start."""

    body: bytes
    etag: bytes
    headers: tuple[Header, ...]


def prepared(body: bytes, media_type: bytes) -> Document:
    """A body with its strong ETag and the headers of its 200."""
    etag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'
    length = str(len(body)).encode()
    return Document(body, etag, ((b"content-type", media_type), (b"content-length", length), (b"etag", etag)))


class Documents:
    """An ASGI application for the paths in `paths`; whoever mounts it asks `matches` first.

    `document` is the contract as it is to be published; `base_path` is empty, or `/…` without a last slash.
    """

    def __init__(self, document: dict[str, Any], base_path: str) -> None:
        page = PAGE.format(title=escape(document["info"]["title"]), base_path=escape(base_path))
        contract = f"{base_path}/openapi.json"
        self._documents = {
            contract: prepared(orjson.dumps(document), b"application/json"),
            f"{base_path}/docs": prepared(page.encode(), b"text/html; charset=utf-8"),
            f"{base_path}/docs/start.js": prepared(
                START % orjson.dumps(contract), STATIC["swagger-ui-bundle.js"]
            ),
        }
        for name, media_type in STATIC.items():
            self._documents[f"{base_path}/docs/{name}"] = prepared(
                (swagger_ui_path / name).read_bytes(), media_type
            )
        self.paths = frozenset(self._documents)

    def matches(self, path: str) -> bool:
        """Whether a decoded request path (base path included) is one of the documents."""
        return path in self._documents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 200, 304 to a known ETag, 204 to OPTIONS, 405 to other methods."""
        document, method = self._documents[scope["path"]], scope["method"]
        if method == "OPTIONS":
            await _answer(send, 204, ((b"allow", METHODS),))
        elif method not in {"GET", "HEAD"}:
            await _refuse(send)
        elif _is_known(document.etag, scope["headers"]):
            await _answer(send, 304, ((b"etag", document.etag),))
        else:
            await _answer(send, 200, document.headers, document.body if method == "GET" else b"")


def _is_known(etag: bytes, headers: list[Header]) -> bool:
    """Whether If-None-Match names the ETag, weakly or strongly (RFC 9110, 13.1.2)."""
    listed = b",".join(value for name, value in headers if name == b"if-none-match")
    tags = {tag.strip().removeprefix(b"W/") for tag in listed.split(b",")}
    return etag in tags or b"*" in tags


async def _refuse(send: Send) -> None:
    body = orjson.dumps({"message": MethodNotAllowed.message, "code": MethodNotAllowed.code})
    headers = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"allow", METHODS),
    )
    await _answer(send, MethodNotAllowed.status, headers, body)


async def _answer(send: Send, status: int, headers: tuple[Header, ...], body: bytes = b"") -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*COMMON, *headers]})
    await send({"type": "http.response.body", "body": body})
