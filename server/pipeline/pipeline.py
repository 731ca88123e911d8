"""The compiled pipeline: a request goes through every check of behaviour 1.3, in its order, and is answered
once."""

from dataclasses import dataclass
from typing import Any

from connexion.middleware.abstract import SpecMiddleware
from connexion.spec import Specification
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import secrets
from domain.errors import Unavailable
from domain.policy import Policy
from handlers.reply import Header
from server import errors
from server.errors import Rendered
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
    request_id: str
    captured: dict[str, str]
    """The values in the path's template."""
    body: bytes = b""
    forget: tuple[Header, ...] = ()
    """What clears cookies that are worth nothing any more, whatever the answer is."""


class Pipeline(SpecMiddleware):  # type: ignore[misc]
    """The one middleware of the service; what is no HTTP request goes on to the next application."""

    def __init__(
        self, next_app: ASGIApp, *, policy: Policy, ports: Ports, disabled: frozenset[str], max_body: int
    ) -> None:
        self._next_app = next_app
        self._policy = policy
        self._ports = ports
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
        request = Request(scope, receive, Head(scope["headers"]), secrets.identifier(), {})
        try:
            rendered = await self._answer(request)
        except ClientGoneError:
            return
        except Exception as error:
            rendered = errors.render(error, request.request_id)
        if request.forget:
            rendered = answers.with_stale(rendered, request.forget)
        cors = self._cors_of(request.head)
        is_head = scope["method"] == "HEAD"
        await answers.send_answer(send, rendered, request.request_id, cors, bodiless=is_head)

    async def _answer(self, request: Request) -> Rendered:
        """Find the operation and who calls it, then go on; the numbers are the steps of behaviour 1.3."""
        scope, head = request.scope, request.head
        place, request.captured = self._routes.find(scope)  # 1
        if scope["method"] == "OPTIONS":
            return answers.options(place.allow, is_preflight=origins.is_preflight(head, self._cors_of(head)))
        operation = place.operation(scope["method"])
        sizes.check(scope, head, self._max_body)  # 2
        if operation.inputs.reads_body:
            request.body = await body.read(request.receive, self._max_body)
        identity = await self._identify(request, operation)  # 4
        request.forget = identity.stale
        return await self._admit(request, operation, identity)

    async def _identify(self, request: Request, operation: Operation) -> Identity:
        """Find who calls. Who wants to leave while nobody can be found may at least forget the cookie."""
        try:
            return await operation.security.identify(request.head)
        except Unavailable:
            if operation.forget:
                origins.check(self._policy.origins, request.head, signs_in=False)
                request.forget = operation.forget
            raise

    async def _admit(self, request: Request, operation: Operation, identity: Identity) -> Rendered:
        """Let the operation's remaining checks decide, then call its handler."""
        scope, head = request.scope, request.head
        if identity.refusal is not None:
            raise identity.refusal
        if operation.checks_origin and (identity.by_cookie or not head.has_bearer()):
            origins.check(self._policy.origins, head, signs_in=operation.signs_in)  # 5
        inputs = operation.inputs
        arguments = inputs.arguments(scope["query_string"], request.captured, head, request.body)  # 6, 7
        request.forget = request.forget or operation.forget
        call = Call(
            operation_id=operation.operation_id,
            handler=operation.handler,
            arguments=arguments,
            method=scope["method"],
            client=client_of(scope, head, request.request_id, self._ports.addresses),
            caller=identity.caller,
            challenge=identity.challenge,
            head=head,
        )
        return answers.answer(await self._ports.endpoint(call), operation.method)  # 8
