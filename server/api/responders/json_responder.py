"""The responder of operations for programs, which respond with JSON."""

from domain.policy import Policy
from server.api import cors
from server.api.request import Operation, Request, Responder


class JsonResponder(Responder):
    """Responds with JSON, and checks the origin of requests."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def check_origin(self, request: Request, operation: Operation, *, by_cookie: bool) -> None:
        """Refuse a request that may come from a page of an untrusted origin."""
        # With a bearer token no check is needed: a page of another origin needs a preflight to send that header.
        # Without cookies it is needed as well, for requests that sign in or send email.
        # defence: V11 V84 ADM21 P18 origin-check
        if operation.checks_origin and (by_cookie or not request.head.has_bearer()):
            cors.check(self._policy.origins, request.head, signs_in=operation.extension.signs_in)
        if operation.extension.checks_script_origin:  # defence: M8 script-origin
            cors.check_script(self._policy.origins, request.head)
