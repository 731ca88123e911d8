"""One request on its way through the pipeline, the operation it is for, and how large it may be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from starlette.types import Receive, Scope

from domain import errors
from domain.context import Caller, Client, PageRequest
from handlers.responses.reply import Header
from server.api import request_body
from server.api.arguments import Handler, OperationInputs
from server.api.errors import ErrorResponse
from server.api.headers import RequestHeaders

MAX_TARGET = 8 * 1024
"""Bytes of path and query as sent."""

MAX_HEADERS = 16 * 1024
"""Bytes of all header lines as sent."""


class Responder(Protocol):
    """Makes the responses of operations of one kind, and does the checks that only these need."""

    always: tuple[Header, ...]
    """Headers of every response."""

    def begin(self, request: "Request") -> None:
        """Prepare a request before its first check."""

    def check_origin(self, request: "Request", operation: "Operation", *, by_cookie: bool) -> None:
        """Check where a request comes from. Raises InvalidOrigin and its like, CrossSiteForm."""

    def admit(self, request: "Request", operation: "Operation") -> ErrorResponse | None:
        """Return the response if the caller of a valid request must not make it, else None. Raises SessionNotFresh."""

    def respond(self, request: "Request", operation: "Operation", result: Any) -> ErrorResponse:
        """Return the response for what the handler returned."""

    async def refuse(self, request: "Request", refusal: errors.Refusal) -> ErrorResponse:
        """Return the response to a request that is refused."""

    def fail(self, request: "Request", refusal: errors.Refusal) -> ErrorResponse:
        """Return the response of a request that failed, without asking anything again."""


class Security(Protocol):
    """The authentication that an operation requires."""

    async def authenticate(self, request: "Request") -> None:
        """Find the caller, and set it in the request. Raises Unavailable, and refusals of access."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the contract, compiled: everything a request to it needs, decided at start."""

    operation_id: str
    """As in the contract: `sessions.revoke_others`."""
    handler: Handler
    method: str
    template: str
    """The path as the contract writes it: what the log says, and nothing that was sent."""
    security: Security
    inputs: OperationInputs
    checks_origin: bool
    checks_script_origin: bool
    signs_in: bool
    answers_head: bool
    is_public: bool
    """Whether caches may keep the response, and pages of every origin may read it."""
    refuses_impersonation: bool
    """Whether administrators cannot call it in the name of a user."""
    is_limited: bool
    """Whether its requests are counted."""
    limits_failures: bool
    """Whether its requests without valid credentials are counted, if others are not."""
    signs_out: bool
    """Whether the session cookie is cleared even if the operation fails: a user who signs out is signed out."""
    responder: "Responder"
    """Makes its responses: JSON, or hosted pages."""
    form: str | None = None
    """The operationId of the page that is shown again when a form is refused."""
    is_own_account: bool = False
    """Whether a form must have been shown for the account that sends it."""
    needs_fresh_session: bool = False


# Not frozen: the stages fill in what they found.
@dataclass(slots=True, eq=False)
class Request:
    """One request: its client, caller, operation and arguments."""

    scope: Scope
    receive: Receive
    head: RequestHeaders
    """The headers; `head.cookies(name)` returns the raw values of any cookie that was sent along."""
    client: Client
    responder: Responder
    """That of the operation, once it is found."""
    cookies: list[Header] = field(default_factory=list)
    """Set-Cookie headers that go with the answer whatever it is, unless it sets the same cookie itself."""
    operation: Operation | None = None
    """Once it is found."""
    captured: dict[str, str] = field(init=False)
    """The values in the path's template."""
    body: bytes = b""
    content: Any = None
    """The body, parsed; None until that is done."""
    now: datetime = field(init=False)
    """When the request was complete: the moment that all of its checks and its rule go by."""
    caller: Caller | None = None
    """The caller, once it is known."""
    challenge: Any = None
    """The live two-factor challenge behind a pending token, as `Challenges` gave it; None when there is none."""
    verifier: str | None = None
    """The name of the service that verifies an API key, once it is known."""
    page: PageRequest | None = None
    """What a hosted page is shown for."""
    by_cookie: bool = False
    """Whether the caller was authenticated by a cookie."""
    ending: tuple[Header, ...] = ()
    """Set-Cookie headers that clear the pending cookie, for a refusal that ends the challenge."""
    arguments: dict[str, Any] = field(init=False)
    """The handler's arguments in addition to `ctx`: `body`, and the parameters by their pythonic names."""

    def form(self) -> Mapping[str, str]:
        """Return the fields of the form that was sent, unchecked and parsed once; none of them if it cannot be read."""
        if self.content is None:
            try:
                self.content = request_body.parse_form(self.body)
            except errors.BadRequest:
                self.content = {}
        fields: Mapping[str, str] = self.content
        return fields

    @property
    def template(self) -> str | None:
        """The path as the contract writes it; None without an operation."""
        return None if self.operation is None else self.operation.template

    @property
    def operation_id(self) -> str | None:
        """The operation's name in the contract; None without one."""
        return None if self.operation is None else self.operation.operation_id

    @property
    def impersonates(self) -> bool:
        """Return whether the caller is an administrator in the name of a user."""
        return self.caller is not None and self.caller.impersonated_by is not None

    @property
    def disable_refresh(self) -> bool:
        """Return whether the caller asked not to extend the session: `?disableRefresh=true`."""
        asked = self.arguments.get("disable_refresh")
        return asked is True or (isinstance(asked, str) and asked.lower() == "true")


def check_size(scope: Scope, head: RequestHeaders, max_body: int) -> None:
    """Refuse what says itself that it is too large. Raises UriTooLong, HeadersTooLarge, PayloadTooLarge.

    Raises BadRequest when it does not name exactly one host (RFC 9112, 3.2).
    """
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
