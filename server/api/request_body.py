"""Reading and strict parsing of request bodies, limited in size and media type."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.types import Receive

from domain import errors
from server.api.headers import RequestHeaders
from server.json_depth import depth

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

MAX_DEPTH = 1000  # defence: R27 max-depth
"""Most levels of nested arrays and objects in a body."""

_MEDIA_TYPE = re.compile(r"([!#$%&'*+.^_`|~\w-]+/[!#$%&'*+.^_`|~\w-]+)[ \t]*((?:;.*)?)", re.ASCII | re.DOTALL)
_CHARSET = re.compile(r";\s*charset\s*=\s*(\"?)([^\";\s]*)\1\s*(?=;|\Z)", re.ASCII | re.IGNORECASE)


class ClientGoneError(Exception):
    """The client closed the connection before its request was complete."""


async def read(receive: Receive, max_body: int) -> bytes:
    """Return the whole body. Raises PayloadTooLarge above `max_body` bytes, ClientGoneError on disconnect."""
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            # A body that was cut off must not be taken for a complete one.
            raise ClientGoneError  # defence: R29 cut-off-body
        piece = message.get("body", b"")
        size += len(piece)
        if size > max_body:  # defence: V73 R29 body-size
            raise errors.PayloadTooLarge
        pieces.append(piece)
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def parse(raw: bytes, head: RequestHeaders, media_type: str, other: str | None = None) -> Any:
    """Return the value of a body of type `media_type` or, if given, `other`; an empty body counts as `{}`.

    Raises UnsupportedMediaType, BadRequest.
    """
    _check_coding(head)  # defence: R30 no-decoding
    if not raw:  # defence: R26 empty-body
        return {}
    # A page of another origin can send text/plain, forms and multipart without a preflight, but not application/json
    # (Fetch, "CORS-safelisted request-header").
    if other is not None and head.fields.get(b"content-type", b"").lower().startswith(other.encode()):
        media_type = other
    _check_media_type(head, media_type)  # defence: V12 media-type
    return parse_form(raw) if media_type == FORM else _parse_json(raw)  # defence: R26 object-body


def parse_pairs(raw: bytes, head: RequestHeaders, media_types: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return the names and values of a form or, if `media_types` has it, of a JSON object; none for an empty body.

    Members of the object that are not strings are left out. Raises UnsupportedMediaType, BadRequest.
    """
    _check_coding(head)
    if not raw:
        return ()
    is_json = JSON in media_types and head.fields.get(b"content-type", b"").lower().startswith(JSON.encode())
    _check_media_type(head, JSON if is_json else FORM)  # defence: O25 media-type
    if not is_json:
        return _pairs(raw)
    value = _parse_json(raw)
    if not isinstance(value, dict):
        raise errors.BadRequest
    # Other members are none of the parameters, which all are strings.
    return [(name, text) for name, text in value.items() if isinstance(text, str)]


def _check_coding(head: RequestHeaders) -> None:
    if b"content-encoding" not in head.fields:
        return
    codings = b",".join(head.every(b"content-encoding")).lower().split(b",")
    # A few kilobytes of gzip can unpack to gigabytes.
    if any(coding.strip() not in (b"identity", b"") for coding in codings):  # defence: R30 content-coding
        raise errors.UnsupportedMediaType


def _check_media_type(head: RequestHeaders, media_type: str) -> None:
    sent = head.fields.get(b"content-type", b"")
    if sent == media_type.encode() and not head.repeated:
        return
    match = _MEDIA_TYPE.fullmatch(sent.decode("latin-1"))  # defence: V12 missing-type
    # defence: V12 only-json
    if match is None or match[1].lower() != media_type or len(head.every(b"content-type")) > 1:
        raise errors.UnsupportedMediaType
    charsets = {charset.lower() for _, charset in _CHARSET.findall(match[2])}
    # JSON is always UTF-8 (RFC 8259, 8.1). Connexion's stock stack responds with 500 to an unknown charset.
    # defence: V12 R31 charset
    if not charsets <= {"utf-8"} or ("charset" in match[2].lower() and not charsets):
        raise errors.UnsupportedMediaType


def _parse_json(raw: bytes) -> Any:
    try:
        value = orjson.loads(raw)  # defence: R26 R27 R28 R31 R33 json
    except orjson.JSONDecodeError:  # defence: R26 R28 R33 json-error
        raise errors.BadRequest from None  # defence: R26 unreadable-body
    # Counting brackets is fast and finds nearly all bodies that cannot be too deep; `depth` looks at the others.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise errors.BadRequest
    return value


def parse_form(raw: bytes) -> dict[str, str]:
    """Return the fields of a form; no fields at all if one occurs twice, because it is unclear which value counts.

    Raises BadRequest for bytes that are not UTF-8.
    """
    pairs = _pairs(raw)
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else {}


def _pairs(raw: bytes) -> Sequence[tuple[str, str]]:
    try:
        text = raw.decode("utf-8")
        if "%" in text or "+" in text:
            return parse_qsl(text, keep_blank_values=True, errors="strict")
    except ValueError:
        raise errors.BadRequest("Invalid form in request body") from None
    # Nothing is escaped, as in requests of the OAuth protocol. The parser above would take a tenth of an introspection.
    parts = [part.partition("=") for part in text.split("&") if part]
    return [(name, value) for name, _, value in parts]
