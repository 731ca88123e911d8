"""Render all errors (refusals, HTTP errors and crashes) as status, headers and the JSON object `{message, code}`.

A `VALIDATION_ERROR` has `fields` as well.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from starlette.exceptions import HTTPException

from domain import errors
from domain.errors import Refusal
from handlers.responses.reply import Header
from server.database.errors import reason
from server.observability import logs

ErrorResponse = tuple[int, tuple[Header, ...], bytes]
"""The status, the headers of this error, and the encoded JSON body."""

CONTENT_TYPE: Header = (b"content-type", b"application/json")  # defence: R40 json-type
CLOSE: Header = (b"connection", b"close")

_GENERIC: dict[int, type[Refusal]] = {
    refusal.status: refusal
    for refusal in (
        errors.Unauthenticated,
        errors.Forbidden,
        errors.NotFound,
        errors.MethodNotAllowed,
        errors.RequestTimeout,
        errors.Conflict,
        errors.PayloadTooLarge,
        errors.UriTooLong,
        errors.UnsupportedMediaType,
        errors.Unprocessable,
        errors.Limited,
        errors.HeadersTooLarge,
        errors.InternalServerError,
        errors.Unavailable,
    )
}
"""The refusals whose messages are sent for HTTP errors of the framework, by status. The text of the error itself is
dropped, because it may repeat input.
"""

_CLOSING = frozenset({408, 413, 414, 431})
"""Statuses after which the connection closes, because the rest of the request is not read."""

_NO_WORD = re.compile(r"[^A-Z]+")

_PREPARED: dict[type[Refusal], bytes] = {}
"""The encoded bodies of refusals, by class; the number of classes bounds the cache."""

_log = structlog.get_logger()


def render(error: Exception, request_id: str) -> ErrorResponse:
    """Return status, headers and body for an exception; an unexpected one is a 500, logged with the request id."""
    if isinstance(error, Refusal):
        return render_refusal(error)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _render_http(error)
    log_defect(error, request_id)
    return render_refusal(errors.InternalServerError())


def log_defect(error: Exception, request_id: str) -> None:
    """Log an unexpected exception by its type and location, without its message."""
    _log.error(
        "internal_server_error", request_id=request_id, error=logs.names(error), trace=logs.frames(error)
    )


def log_outage(refusal: Refusal, request_id: str) -> None:
    """Log the cause if the refusal is Unavailable; the response only asks the client to retry."""
    if refusal.code == errors.Unavailable.code and refusal.__cause__ is not None:
        _log.warning("service_unavailable", request_id=request_id, reason=reason(refusal.__cause__))


def render_refusal(refusal: Refusal) -> ErrorResponse:
    """Return status, headers and JSON body of a refusal."""
    status = refusal.status
    if isinstance(refusal, errors.ValidationError):
        body = _validation_body(refusal)
    elif refusal.message is type(refusal).message and not refusal.details:
        body = _prepared(type(refusal))
    else:
        body = _body(refusal.code, refusal.message, refusal.details)
    if status == HTTPStatus.BAD_REQUEST:
        return status, (CONTENT_TYPE,), body
    return status, (CONTENT_TYPE, *status_headers(status, refusal.retry_after)), body


def _render_http(error: HTTPException) -> ErrorResponse:
    status = error.status_code
    own = tuple((name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items())
    # Starlette's own headers win, except the media type: its errors are plain text, ours are JSON.
    names = {name for name, _ in own} | {CONTENT_TYPE[0]}
    added = tuple(header for header in status_headers(status, None) if header[0] not in names)
    headers = (CONTENT_TYPE, *(header for header in own if header[0] != CONTENT_TYPE[0]), *added)
    if status in _GENERIC:
        return status, headers, _prepared(_GENERIC[status])
    phrase = HTTPStatus(status).phrase
    code = _NO_WORD.sub("_", phrase.replace("'", "").upper())
    return status, headers, _body(code, phrase[0] + phrase[1:].lower())


def status_headers(status: int, retry_after: int | None) -> tuple[Header, ...]:
    """Return the headers that a status requires: WWW-Authenticate, Retry-After (seconds), or Connection: close."""
    headers: tuple[Header, ...] = ()
    if status == HTTPStatus.UNAUTHORIZED:
        headers = ((b"www-authenticate", b"Bearer"),)
    if status in _CLOSING:
        headers = (CLOSE,)
    if retry_after is not None:
        seconds = str(retry_after).encode()
        headers = (*headers, (b"retry-after", seconds))
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            # The official client reads X-Retry-After.
            headers = (*headers, (b"x-retry-after", seconds))
    return headers


def _prepared(refusal: type[Refusal]) -> bytes:
    body = _PREPARED.get(refusal)
    if body is None:
        body = _PREPARED[refusal] = _body(refusal.code, refusal.message)
    return body


def _validation_body(refusal: errors.ValidationError) -> bytes:
    fields = [{"in": place, "name": name, "message": message} for place, name, message in refusal.fields]
    return orjson.dumps({"message": refusal.message, "code": refusal.code, "fields": fields})


def _body(code: str, message: str, details: Mapping[str, Any] | None = None) -> bytes:
    return orjson.dumps({"message": message, "code": code, **(details or {})})  # defence: V88 error-keys
