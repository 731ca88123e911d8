"""A request in the pipeline, its operation, and its size limits."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from starlette.types import Receive, Scope

from domain import errors
from domain.context import Caller, Client, PageRequest
from domain.oauth_clients.parameters import OAuthParameters
from handlers.responses.reply import Header
from server.api import request_body
from server.api.arguments import Handler, Inputs
from server.api.errors import ErrorResponse, render_refusal
from server.api.extension import OperationExtension
from server.api.headers import RequestHeaders
from server.api.responses import DEFAULT_HEADERS, answer

MAX_TARGET = 8 * 1024
"""The longest path with its query, in bytes before decoding."""

MAX_HEADERS = 16 * 1024
"""The largest size of all header lines together, in bytes on the wire."""


class Responder:
    """The base class of responders. It responds with JSON and checks nothing.

    A responder renders the responses of one kind of operations, and makes the checks that only their requests need.
    """

    always: tuple[Header, ...] = DEFAULT_HEADERS
    """The headers of every response."""

    def holds(self, path: str) -> bool:
        """Return whether this responder renders the error for a path that no operation has."""
        return False

    def begin(self, request: "Request") -> None:
        """Prepare a request before its first check."""

    def check_caller(self, request: "Request", operation: "Operation") -> None:
        """Check that the caller may know that the operation exists. Raises NotFound and other refusals."""

    def check_origin(self, request: "Request", operation: "Operation", *, by_cookie: bool) -> None:
        """Check the origin of a request.

        Raises CrossSiteNavigationLoginBlocked, MissingOrNullOrigin, InvalidOrigin, CrossSiteForm.
        """

    def admit(self, request: "Request", operation: "Operation") -> ErrorResponse | None:
        """Return a response if the caller may not make this valid request; None if the handler shall run.

        Raises SessionNotFresh, CookiesBlocked.
        """
        return None

    def respond(self, request: "Request", operation: "Operation", result: Any) -> ErrorResponse:
        """Return the response for `result`, which the handler has returned."""
        return answer(result, operation.method, request.head)

    async def refuse(self, request: "Request", refusal: errors.Refusal) -> ErrorResponse:
        """Return the response to a request that was refused with `refusal`."""
        return self.fail(request, refusal)

    def fail(self, request: "Request", refusal: errors.Refusal) -> ErrorResponse:
        """Return the error response without calling a handler; `refuse` may call one to show a form again."""
        return render_refusal(refusal)


class Security(Protocol):
    """The authentication that an operation requires."""

    async def authenticate(self, request: "Request") -> None:
        """Find the caller, challenge or verifier by the credentials of the request, and set it on the request.

        Raises Unavailable, Unauthenticated, InvalidTwoFactorCookie, ValidationError, and the refusals of API keys.
        """


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the contract, compiled at its first request to everything that its requests need."""

    operation_id: str
    """The operationId, as in `sessions.revoke_others`."""
    handler: Handler
    method: str
    template: str
    """The path template of the contract, for the log; it holds nothing that the client sent."""
    security: Security
    inputs: Inputs
    responder: Responder
    extension: OperationExtension
    checks_origin: bool
    refuses_impersonation: bool
    """Whether the operation is refused while an administrator impersonates a user."""


# Not frozen, because the stages set attributes one after the other.
@dataclass(slots=True, eq=False)
class Request:
    """One request: its client, caller, operation and arguments."""

    scope: Scope
    receive: Receive
    head: RequestHeaders
    """The headers; `head.cookies(name)` returns the raw values of any cookie that was sent along."""
    client: Client
    responder: Responder
    """The operation's responder, once the operation is found."""
    cookies: list[Header] = field(default_factory=list)
    """Set-Cookie headers that are added to the response, also to an error, unless it sets the same cookie itself."""
    operation: Operation | None = None
    """The requested operation; None until it is found."""
    captured: dict[str, str] = field(init=False)
    """The values of the path template."""
    accepts_any_origin: bool = False
    """Whether pages of every origin may read the response."""
    body: bytes = b""
    content: Any = None
    """The parsed body; None until it is parsed."""
    now: datetime = field(init=False)
    """The time at which the request was complete; all its checks and its rule use this time."""
    caller: Caller | None = None
    """The authenticated caller; None until authentication, and for callers without credentials."""
    challenge: Any = None
    """The live challenge of a pending two-factor sign-in, as returned by `Challenges.find`, or None."""
    verifier: str | None = None
    """The name of the service that is authenticated to verify an API key, or None."""
    page: PageRequest | None = None
    """The facts that a handler of hosted pages needs: languages, form, and the refusal to show; None elsewhere."""
    by_cookie: bool = False
    """Whether the caller was authenticated by a cookie."""
    ending: tuple[Header, ...] = ()
    """Set-Cookie headers that clear the cookie of the pending sign-in; sent with a refusal that ends the challenge."""
    arguments: dict[str, Any] = field(init=False)
    """The handler's arguments in addition to `ctx`: `body`, and the parameters by their pythonic names."""

    protocol: OAuthParameters | None = None
    """The parameters of a request of the OAuth protocol, once they are read."""
    stream: AsyncGenerator[bytes, None] | None = None
    """The parts of the response's body, if it is sent as a stream."""

    def form(self) -> Mapping[str, str]:
        """Return the unvalidated fields of the submitted form, parsed once; empty if it cannot be parsed."""
        if self.content is None:
            try:
                self.content = request_body.parse_form(self.body)
            except errors.BadRequest:
                self.content = {}
        fields: Mapping[str, str] = self.content
        return fields

    @property
    def template(self) -> str | None:
        """The path template of the contract; None without an operation."""
        return None if self.operation is None else self.operation.template

    @property
    def operation_id(self) -> str | None:
        """The operationId; None without an operation."""
        return None if self.operation is None else self.operation.operation_id

    @property
    def impersonates(self) -> bool:
        """Return whether the caller is an administrator who impersonates a user."""
        return self.caller is not None and self.caller.impersonated_by is not None

    @property
    def disable_refresh(self) -> bool:
        """Return whether the request must not extend the session: `?disableRefresh=true`."""
        value = self.arguments.get("disable_refresh")
        return value is True or (isinstance(value, str) and value.lower() == "true")


def check_size(scope: Scope, head: RequestHeaders, max_body: int) -> None:
    """Check the target, the headers and the announced body size. Raises UriTooLong, HeadersTooLarge, PayloadTooLarge.

    Raises BadRequest unless there is exactly one Host header (RFC 9112, 3.2).
    """
    # Proxies and servers may choose different ones of several Host headers.
    if scope["http_version"] == "1.1" and not head.occurs_once(b"host"):  # defence: V10 R39 one-host
        raise errors.BadRequest("Invalid HTTP request")
    query = scope["query_string"]
    target = len(scope.get("raw_path") or scope["path"]) + (len(query) + 1 if query else 0)
    if target > MAX_TARGET:  # defence: R34 target-size
        raise errors.UriTooLong
    if head.size() > MAX_HEADERS:  # defence: V28 R34 header-size
        raise errors.HeadersTooLarge
    announced = head.fields.get(b"content-length")
    # defence: V73 R29 announced-size
    if announced is not None and announced.isdigit() and int(announced) > max_body:
        raise errors.PayloadTooLarge
