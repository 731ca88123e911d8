"""The responder of operations for programs."""

from typing import Any

from domain.errors import Refusal
from domain.policy import Policy
from server.api import cors
from server.api.errors import ErrorResponse, render_refusal
from server.api.request import Operation, Request
from server.api.responses import DEFAULT_HEADERS, answer


class JsonResponder:
    """The responder for JSON. Implements `server.api.request.Responder`."""

    always = DEFAULT_HEADERS

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def begin(self, request: Request) -> None:
        """Prepare nothing."""

    def check_caller(self, request: Request, operation: Operation) -> None:
        """Check nothing: rules check permissions."""

    def check_origin(self, request: Request, operation: Operation, *, by_cookie: bool) -> None:
        """Refuse a request that may come from a page of an untrusted origin."""
        # With a bearer token no check is needed: a page of another origin needs a preflight to send that header.
        # Without cookies it is needed as well, for requests that sign in or send email.
        # defence: V11 V84 ADM21 P18 origin-check
        if operation.checks_origin and (by_cookie or not request.head.has_bearer()):
            cors.check(self._policy.origins, request.head, signs_in=operation.signs_in)
        if operation.checks_script_origin:  # defence: M8 script-origin
            cors.check_script(self._policy.origins, request.head)

    def admit(self, request: Request, operation: Operation) -> ErrorResponse | None:
        """Return None: the rule checks the caller."""
        return None

    def respond(self, request: Request, operation: Operation, result: Any) -> ErrorResponse:
        """Return the response for what the handler returned."""
        return answer(result, operation.method, request.head)

    async def refuse(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return the error."""
        return render_refusal(refusal)

    def fail(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return the error."""
        return render_refusal(refusal)
