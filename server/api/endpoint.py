"""Run the handler of a request that has passed all checks, in a unit of work."""

from collections.abc import Awaitable
from functools import partial
from typing import Any

from domain.context import NO_COOKIES, RequestCookies, RequestFacts, Runner
from domain.policy import Cookies
from handlers.responses import cookies
from server.api.request import Operation, Request


class Endpoint:
    """Runs the handlers of operations. Implements `server.api.interfaces.Endpoint`."""

    def __init__(self, run: Runner, policy: Cookies) -> None:
        self._run = run
        self._pending = cookies.pending_name(policy).encode()
        self._trusted = cookies.trusted_name(policy).encode()

    def __call__(self, operation: Operation, request: Request) -> Awaitable[Any]:
        """Run the operation's handler for a request, commit, and return the handler's result."""
        head = request.head
        has_cookies = b"cookie" in head.fields
        facts = RequestFacts(
            request.now,
            request.client,
            request.caller,
            request.challenge,
            RequestCookies(head.cookies, self._pending, self._trusted) if has_cookies else NO_COOKIES,
            request.verifier,
            request.page,
            head.is_navigation,
            request.scope["query_string"],
        )
        return self._run(partial(operation.handler, **request.arguments), facts)
