"""The static files of the hosted pages: compressed once, cached by browsers for a year."""

import gzip
from dataclasses import dataclass, field
from functools import cached_property

import brotli
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from domain import tokens
from domain.errors import NotFound, Refusal
from domain.pages.links import static_path
from domain.policy import Policy
from handlers.pages import assets
from handlers.responses.reply import Header
from server.api import responses
from server.api.errors import ErrorResponse, render
from server.api.headers import RequestHeaders
from server.api.request import check_size

METHODS = "GET, HEAD, OPTIONS"

_ALWAYS: tuple[Header, ...] = (
    # The name of a file changes with its content.
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"x-content-type-options", b"nosniff"),
    (b"vary", b"Accept-Encoding"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # An SVG that is opened as a document of its own must not run scripts.
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox"),
)
_COMPRESSIBLE = ("text/", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class _File:
    """A file by content coding; "" is the uncompressed file."""

    media_type: bytes
    encodings: dict[str, bytes] = field(repr=False)


class Assets:
    """An ASGI application that serves the static files of the pages; callers check `matches` first.

    A request that announces a body of more than `max_body` bytes is refused.
    """

    def __init__(self, policy: Policy, max_body: int) -> None:
        self._policy = policy
        self._max_body = max_body
        self._prefix = static_path(policy)

    def matches(self, path: str) -> bool:
        """Return whether a decoded request path is in the folder of the files."""
        return path.startswith(self._prefix)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the file (200), 204 for OPTIONS, 404 for an unknown file, or 405 for other methods."""
        request_id, head = tokens.request_id(), RequestHeaders(scope["headers"])
        try:
            rendered = self._answer(scope, head)
        except (Refusal, HTTPException, OSError) as error:  # The operator may have deleted a file.
            rendered = render(error, request_id)
        always = _ALWAYS if rendered[0] == 200 else responses.DEFAULT_HEADERS
        await responses.send_answer(scope, send, rendered, request_id, (), always=always)

    def _answer(self, scope: Scope, head: RequestHeaders) -> ErrorResponse:
        if scope["method"] == "OPTIONS":
            return responses.options(METHODS, is_preflight=False)
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": METHODS})
        check_size(scope, head, self._max_body)
        asset = self._files.get(scope["path"])
        if asset is None:
            raise NotFound
        accepted = b",".join(head.every(b"accept-encoding")).decode("latin-1").lower()
        names = {
            coding.partition(";")[0].strip()
            for coding in accepted.split(",")
            # A weight of 0 means "not acceptable" (RFC 9110, 12.4.2). It also excludes weights such as 0.5, which
            # only costs compression.
            if ";q=0" not in coding.replace(" ", "")
        }
        encoding = next((name for name in ("br", "gzip") if name in names and name in asset.encodings), "")
        headers: tuple[Header, ...] = ((b"content-type", asset.media_type),)
        if encoding:
            headers = (*headers, (b"content-encoding", encoding.encode()))
        return 200, headers, asset.encodings[encoding]

    @cached_property
    def _files(self) -> dict[str, _File]:
        # Pages and the console have files of the same name, with different paths.
        found = (*assets.assets(self._policy).values(), *assets.console_assets(self._policy).values())
        return {
            each.path: _File(each.media_type.encode(), _encodings(each.media_type, each.body))
            for each in found
        }


def _encodings(media_type: str, body: bytes) -> dict[str, bytes]:
    if not media_type.startswith(_COMPRESSIBLE):
        return {"": body}
    # No time in the header, so that all instances send the same bytes.
    return {"": body, "gzip": gzip.compress(body, 9, mtime=0), "br": brotli.compress(body, quality=11)}
