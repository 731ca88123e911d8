"""The compiled pipeline: a request goes through every check of behaviour 1.3, in its order, and is answered
once."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from connexion.middleware.abstract import SpecMiddleware
from connexion.spec import Specification
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import secrets
from domain.context import Caller, Client
from domain.errors import Refusal, Unavailable
from domain.policy import Policy
from handlers.reply import Header, Redirect
from server import errors
from server.access_log import access
from server.errors import Rendered
from server.masks import mask_path
from server.pipeline import answers, body, origins, sizes
from server.pipeline.body import ClientGoneError
from server.pipeline.client import client_of
from server.pipeline.compiler import CompiledApi
from server.pipeline.head import Head
from server.pipeline.operation import Operation
from server.pipeline.ports import Call, Ports
from server.pipeline.routing import Routes
from server.pipeline.security import Identity


@dataclass(slots=True)
class Request:
    """One request on its way; the stages fill in what they found."""

    scope: Scope
    receive: Receive
    head: Head
    client: Client
    captured: dict[str, str]
    """The values in the path's template."""
    body: bytes = b""
    cookies: list[Header] = field(default_factory=list)
    """Set-Cookie headers that go with the answer whatever it is, unless it sets the same cookie itself."""
    operation: Operation | None = None
    """Once it is found."""
    caller: Caller | None = None
    """Who calls, once that is known."""

    @property
    def template(self) -> str | None:
        """The path as the contract writes it; None without an operation."""
        return None if self.operation is None else self.operation.template

    @property
    def operation_id(self) -> str | None:
        """The operation's name in the contract; None without one."""
        return None if self.operation is None else self.operation.operation_id


class Pipeline(SpecMiddleware):  # type: ignore[misc]
    """The one middleware of the service; what is no HTTP request goes on to the next application."""

    def __init__(
        self, next_app: ASGIApp, *, policy: Policy, ports: Ports, disabled: frozenset[str], max_body: int
    ) -> None:
        self._next_app = next_app
        self._policy = policy
        self._ports = ports
        self._limiter = ports.limiter
        self._observer = ports.observer
        self._disabled = disabled
        self._max_body = max_body
        self._cors_of = origins.cors(policy.origins)
        self._routes = Routes()

    def add_api(self, specification: Specification, **options: Any) -> CompiledApi:
        """Compile the contract; Connexion calls this once, at start."""
        api = CompiledApi(
            specification, policy=self._policy, ports=self._ports, disabled=self._disabled, **options
        )
        self._routes = api.routes
        return api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._next_app(scope, receive, send)
            return
        began = time.perf_counter()
        head = Head(scope["headers"])
        client = client_of(scope, head, secrets.identifier(), self._ports.addresses)
        request = Request(scope, receive, head, client, {})
        try:
            rendered = await self._answer(request)
        except ClientGoneError:
            return
        except Refusal as refusal:
            self._ports.refusals.note(refusal, client, request.caller, request.template)
            errors.log_outage(refusal, client.request_id)
            rendered = errors.render_refusal(refusal)
        except (
            asyncio.CancelledError
        ):  # The service stops, and has waited for this request as long as it may.
            rendered = errors.render_refusal(Unavailable())
        except Exception as error:
            rendered = errors.render(error, client.request_id)
        if request.cookies:
            rendered = answers.with_cookies(rendered, request.cookies)
        await answers.send_answer(scope, send, rendered, client.request_id, self._cors_of(head))
        seconds = time.perf_counter() - began
        self._log(request, rendered[0], seconds)
        if self._observer is not None:
            self._observer.request(request.operation_id, rendered[0], seconds)

    async def _answer(self, request: Request) -> Rendered:
        """Find the operation and who calls it, then go on; the numbers are the steps of behaviour 1.3."""
        scope, head = request.scope, request.head
        place, request.captured = self._routes.find(scope)  # 1
        if scope["method"] == "OPTIONS":
            return answers.options(place.allow, is_preflight=origins.is_preflight(head, self._cors_of(head)))
        operation = place.operation(scope["method"])
        request.operation = operation
        sizes.check(scope, head, self._max_body)  # 2
        if operation.inputs.reads_body:
            request.body = await body.read(request.receive, self._max_body)
        if self._limiter is not None and operation.is_limited:
            network, name = request.client.network, operation.operation_id
            if network is not None and not self._limiter.passes(network, name):  # 3
                await self._limiter.draw(request.client, name)
        try:
            identity = await operation.security.identify(head)  # 4
        except Unavailable:
            self._forget(request, operation)
            raise
        request.cookies += identity.stale
        request.caller = identity.caller
        call = self._admit(request, operation, identity)
        try:
            result = await self._ports.endpoint(call)  # 8
        except Refusal as refusal:
            if refusal.ends_challenge:
                request.cookies += identity.ending
            raise
        if isinstance(result, Redirect) and result.defect is not None:
            errors.log_defect(result.defect, request.client.request_id)
        return answers.answer(result, operation.method)

    def _forget(self, request: Request, operation: Operation) -> None:
        """Let who wants to leave forget the cookie at least, while nobody can be found."""
        if operation.forget:
            self._check_origin(request, operation, by_cookie=False)
            request.cookies += operation.forget

    def _admit(self, request: Request, operation: Operation, identity: Identity) -> Call:
        """Let the operation's remaining checks decide; give what its handler is called with."""
        scope, head = request.scope, request.head
        if identity.refusal is not None:
            raise identity.refusal
        self._check_origin(request, operation, by_cookie=identity.by_cookie)  # 5
        inputs = operation.inputs
        arguments = inputs.arguments(scope["query_string"], request.captured, head, request.body)  # 6, 7
        request.cookies += operation.forget
        # By position: by name, Python takes three times as long.
        return Call(
            operation.operation_id,
            operation.handler,
            arguments,
            scope["method"],
            request.client,
            identity.caller,
            identity.challenge,
            head,
            request.cookies,
        )

    def _check_origin(self, request: Request, operation: Operation, *, by_cookie: bool) -> None:
        if operation.checks_origin and (by_cookie or not request.head.has_bearer()):
            origins.check(self._policy.origins, request.head, signs_in=operation.signs_in)

    def _log(self, request: Request, status: int, seconds: float) -> None:
        scope, operation, client = request.scope, request.operation, request.client
        access(
            scope["method"],
            mask_path(scope["path"], self._routes.words) if operation is None else operation.template,
            None if operation is None else operation.operation_id,
            scope["query_string"],
            status,
            seconds,
            client.address,
            client.request_id,
        )
