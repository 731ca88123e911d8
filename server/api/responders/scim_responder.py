"""The responder of operations of the SCIM protocol, whose resources and errors have a form of their own (RFC 7644)."""

from functools import partial
from http import HTTPStatus
from typing import Any

import orjson

from domain.context import RequestFacts, Runner
from domain.errors import Refusal, Unavailable
from domain.scim import failures
from domain.scim.errors import InvalidSyntax, NotSupported, ScimError
from domain.scim.request import ScimReply, ScimRequest
from handlers.responses.reply import Header
from server.api.errors import ErrorResponse, log_defect, log_outage, render_refusal, status_headers
from server.api.request import Operation, Request, Responder
from server.api.scim_inputs import MEDIA_TYPE, REQUEST

_CONTENT_TYPE: Header = (b"content-type", MEDIA_TYPE.encode())
_ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
_UNSUPPORTED = ("/.search", "/Bulk", "/Me")
"""The ends of the paths of operations that a service need not have (RFC 7644, 3.2)."""
_IN_OUR_FORM = frozenset(
    {
        HTTPStatus.METHOD_NOT_ALLOWED,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.REQUEST_URI_TOO_LONG,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    }
)
"""The statuses of errors that happen before the protocol is reached."""


class ScimResponder(Responder):
    """The responder for directories, the clients of the SCIM protocol.

    No origin is checked, because a browser never adds a SCIM token to a request by itself.
    """

    def __init__(self, prefix: str, run: Runner) -> None:
        """Create the responder for paths that begin with `prefix`; `run` runs the jobs that record refusals.

        Unless `is_on` is set, because an operation of the protocol exists, no path belongs to the protocol.
        """
        self._prefix = prefix
        self._run = run
        self.is_on = False

    def holds(self, path: str) -> bool:
        """Return whether a path that no operation has belongs to the SCIM protocol."""
        return self.is_on and path.startswith(self._prefix)

    def begin(self, request: Request) -> None:
        """Set empty arguments, because the request may be refused before its arguments are read."""
        request.arguments = {}

    def admit(self, request: Request, operation: Operation) -> ErrorResponse | None:
        """Store the token and the conditional headers in the SCIM request, and return None."""
        sent = request.arguments.get(REQUEST)
        if isinstance(sent, ScimRequest):
            sent.token = request.head.bearer()
            sent.if_match = _text(request, b"if-match")
            sent.if_none_match = _text(request, b"if-none-match")
        return None

    def respond(self, request: Request, operation: Operation, result: Any) -> ErrorResponse:
        """Return the response for the handler's result: a resource or a message of the protocol, or no body."""
        if not isinstance(result, ScimReply):
            return Responder.respond(self, request, operation, result)
        named = ((b"etag", result.etag), (b"location", result.location))
        headers = tuple((name, value.encode("ascii")) for name, value in named if value is not None)
        if result.body is None:
            return result.status, headers, b""
        return result.status, (_CONTENT_TYPE, *headers), orjson.dumps(result.body)

    async def refuse(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return the error response, and record the refusal if the request had a valid token."""
        sent = request.arguments.get(REQUEST)
        connection_id = sent.connection_id if isinstance(sent, ScimRequest) else None
        # While the service is unavailable nothing can be recorded, and no directory is at fault.
        if connection_id is not None and refusal.status != HTTPStatus.SERVICE_UNAVAILABLE:
            await self._record(request, connection_id, refusal)
        return self.fail(request, refusal)

    async def _record(self, request: Request, connection_id: str, refusal: Refusal) -> None:
        """Record a refusal in a transaction of its own; if that fails, the response is the same."""
        failure = failures.Failure(
            method=request.scope["method"],
            resource=(request.template or "").removeprefix(self._prefix).partition("/")[0],
            status=refusal.status,
            scim_type=_scim_type(refusal),
            message=failures.message_of(refusal),
        )
        job = partial(failures.record, connection_id=connection_id, failure=failure)
        try:
            await self._run(job, RequestFacts(request.now, request.client))
        except Unavailable as outage:
            log_outage(outage, request.client.request_id)
        except Exception as error:
            log_defect(error, request.client.request_id)

    def fail(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return the error response in the form of the protocol; errors that precede it are JSON as elsewhere."""
        if request.operation is None and request.scope["path"].endswith(_UNSUPPORTED):
            refusal = NotSupported()
        if not isinstance(refusal, ScimError) and refusal.status in _IN_OUR_FORM:
            return render_refusal(refusal)
        body = {"schemas": [_ERROR], "status": str(refusal.status), "detail": refusal.message}
        if scim_type := _scim_type(refusal):
            body["scimType"] = scim_type
        headers = (_CONTENT_TYPE, *status_headers(refusal.status, refusal.retry_after))
        return refusal.status, headers, orjson.dumps(body)


def _scim_type(refusal: Refusal) -> str | None:
    if isinstance(refusal, ScimError):
        return refusal.scim_type
    return InvalidSyntax.scim_type if refusal.status == HTTPStatus.BAD_REQUEST else None


def _text(request: Request, name: bytes) -> str | None:
    value = request.head.fields.get(name)
    return None if value is None else value.decode("latin-1")
