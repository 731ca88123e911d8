"""The compiled pipeline: every request passes the same checks in the same order and gets one response.

Routing (1), size (2), rate limit (3), authentication (4), origin and impersonation (5), parameters and body (6),
redirect targets (7), handler (8).
"""

import asyncio
import time
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from domain import tokens
from domain.admin.errors import NotAllowedWhileImpersonating
from domain.errors import InternalServerError, Refusal, Unauthenticated, Unavailable
from domain.policy import Policy
from handlers.responses import cookies
from handlers.responses.reply import Redirect, Stream
from server.api import cors, errors, request_body, responses
from server.api.client_address import client_of
from server.api.errors import ErrorResponse
from server.api.headers import RequestHeaders
from server.api.interfaces import Dependencies
from server.api.request import Operation, Request, Responder, check_size
from server.api.request_body import ClientGoneError
from server.api.routing import Routes
from server.observability.access_log import access
from server.observability.redaction import mask_path


class Pipeline:
    """An ASGI application; scopes other than HTTP are passed on to the next application.

    If no operation is found, the first responder of `others` whose `holds` is true for the path renders the error; if
    there is none, the error is JSON.
    """

    def __init__(
        self,
        routes: Routes,
        next_app: ASGIApp,
        *,
        policy: Policy,
        dependencies: Dependencies,
        json: Responder,
        others: Sequence[Responder],
        max_body: int,
    ) -> None:
        self._routes = routes
        self._json = json
        self._others = others
        self._next_app = next_app
        self._policy = policy
        self._dependencies = dependencies
        self._clock = dependencies.clock
        self._sessions = dependencies.sessions
        self._limiter = dependencies.limiter
        self._request_hooks = dependencies.request_hooks
        self._max_body = max_body
        self._cors_of = cors.cors(policy.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to an HTTP request."""
        if scope["type"] != "http":
            await self._next_app(scope, receive, send)
            return
        began = time.perf_counter()
        head = RequestHeaders(scope["headers"])
        addresses = self._dependencies.addresses
        client = client_of(scope, head, tokens.request_id(), addresses)  # defence: V10 M4 ORG17 host
        request = Request(scope, receive, head, client, self._json)
        try:
            rendered = await self._answer(request)
        # The client has disconnected: it reads no response, and the request is not logged as an error.
        except ClientGoneError:
            return
        except Refusal as refusal:
            self._dependencies.refusals.note(refusal, client, request.caller, request.template)
            errors.log_outage(refusal, client.request_id)  # defence: R1 log-outage
            if request.operation is None:
                path = scope["path"]
                request.responder = next((each for each in self._others if each.holds(path)), self._json)
                request.responder.begin(request)
            rendered = await request.responder.refuse(request, refusal)
        except (
            asyncio.CancelledError
        ):  # The service is shutting down, and the grace period for this request has ended.
            rendered = request.responder.fail(request, Unavailable())
        except Exception as error:
            rendered = errors.render(error, client.request_id)
            if rendered[0] == InternalServerError.status:
                rendered = request.responder.fail(request, InternalServerError())  # defence: V88 plain-error
        if request.cookies:
            rendered = responses.with_cookies(rendered, request.cookies)
        # A cookie from before `session.cookie_domain` was set stays in the browser, and would be sent along with the
        # new one for ever.
        if self._policy.cookies.domain is not None:
            rendered = responses.with_host_only_cookies_cleared(rendered)  # defence: V42 twin
        await self._send(request, send, rendered)
        seconds = time.perf_counter() - began
        self._log(request, rendered[0], seconds)
        for hook in self._request_hooks:
            hook.request(request.operation_id, rendered[0], seconds)

    async def _send(self, request: Request, send: Send, rendered: ErrorResponse) -> None:
        allowed, always = self._cors_of(request.head), request.responder.always
        if request.accepts_any_origin:
            allowed = allowed or cors.ANY_ORIGIN
        if request.operation is not None and request.operation.extension.public_document:
            allowed = allowed or cors.ANY_ORIGIN
            if rendered[0] in (200, 304):
                status, always, body = rendered
                rendered = status, (), body
        request_id = request.client.request_id
        if request.stream is None or rendered[0] != 200:
            await responses.send_answer(request.scope, send, rendered, request_id, allowed, always=always)
            return
        shared = (*always, (b"x-request-id", request_id.encode()), *allowed)
        await responses.send_stream(request.receive, send, rendered, request.stream, shared)

    async def _answer(self, request: Request) -> ErrorResponse:
        """Check a request, run its handler, and return the response. Raises refusals."""
        scope, head = request.scope, request.head
        place, request.captured = self._routes.find(scope)  # 1
        request.accepts_any_origin = place.accepts_any_origin
        if scope["method"] == "OPTIONS":  # defence: R39 options
            allowed = cors.ANY_ORIGIN if request.accepts_any_origin else self._cors_of(head)
            return responses.options(place.allow, is_preflight=cors.is_preflight(head, allowed))
        operation = self._routes.operation(place, scope["method"])
        request.operation = operation
        request.responder = operation.responder
        request.responder.begin(request)
        max_body = max(self._max_body, operation.extension.max_body or 0)
        check_size(scope, head, max_body)  # 2
        if operation.inputs.reads_body:
            request.body = await request_body.read(request.receive, max_body)
        request.now = self._clock()
        if operation.extension.rate_limited:
            await self._limit(request, operation)  # 3
        try:
            await operation.security.authenticate(request)  # 4
        except Unavailable:
            self._clear_cookies_on_sign_out(request, operation)
            raise
        except Unauthenticated:
            # Requests with a valid token are not limited, because services verify keys at any rate. Guesses are.
            if operation.extension.failures_limited:  # defence: KEY14 limit
                await self._limit(request, operation)
            raise
        self._admit(request, operation)
        if request.caller is not None:
            expires_at = self._sessions.extension(request, request.caller)
            if expires_at is not None:
                await self._sessions.extend(request, request.caller, expires_at)
                request.now = self._clock()
        if (refused := operation.responder.admit(request, operation)) is not None:
            return refused
        try:
            result = await self._dependencies.endpoint(operation, request)  # 8
        except Refusal as refusal:
            if refusal.ends_challenge:
                request.cookies += request.ending
            raise
        return self._render(request, operation, result)

    def _render(self, request: Request, operation: Operation, result: object) -> ErrorResponse:
        """Return the response for a handler's result."""
        if isinstance(result, Stream):
            request.stream = result.parts
        if isinstance(result, Redirect) and result.defect is not None:
            errors.log_defect(result.defect, request.client.request_id)
        return operation.responder.respond(request, operation, result)

    async def _limit(self, request: Request, operation: Operation) -> None:
        """Count a request by client network and operation. Raises Limited."""
        network, name = request.client.network, operation.operation_id  # defence: R42 operation-name
        # defence: V67 R42 P25 request-limit
        if (
            self._limiter is not None
            and network is not None
            and not self._limiter.passes(network, name, request.now, operation.extension.rate_factor)
        ):
            await self._limiter.hit(request.client, name, operation.extension.rate_factor)
            request.now = self._clock()

    def _clear_cookies_on_sign_out(self, request: Request, operation: Operation) -> None:
        """Clear the session cookie of a sign-out if its session cannot be looked up."""
        if operation.extension.signs_out:
            # Otherwise a foreign page could sign a visitor out while the database is down.
            operation.responder.check_origin(request, operation, by_cookie=False)
            self._clear_cookies(request)

    def _clear_cookies(self, request: Request) -> None:
        request.cookies += cookies.clear_sessions(self._policy.cookies, request.head.cookies)

    def _admit(self, request: Request, operation: Operation) -> None:
        """Check origin, parameters and body, and set the arguments of the handler. Raises refusals."""
        operation.responder.check_caller(request, operation)  # 5
        operation.responder.check_origin(request, operation, by_cookie=request.by_cookie)
        # defence: ADM5 ADM8 while-impersonating
        if operation.refuses_impersonation and request.impersonates:
            raise NotAllowedWhileImpersonating
        inputs = operation.inputs
        if inputs.reads_body:
            request.content = inputs.parse(request.body, request.head)
        request.arguments = inputs.arguments(  # 6, 7
            request.scope["query_string"], request.captured, request.content, request.body
        )
        if operation.extension.signs_out:
            self._clear_cookies(request)

    def _log(self, request: Request, status: int, seconds: float) -> None:
        scope, operation, client = request.scope, request.operation, request.client
        access(
            scope["method"],
            # The template, because the path of an emailed link contains its token.
            # defence: V86 JWT18 masked-path
            mask_path(scope["path"], self._routes.words) if operation is None else operation.template,
            None if operation is None else operation.operation_id,
            scope["query_string"],
            status,
            seconds,
            client.address,
            client.request_id,
        )
