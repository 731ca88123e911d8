"""Build the pipeline: Connexion reads the contract, and every operation is compiled before the first request."""

from typing import Any

from connexion.middleware.lifespan import Lifespan, LifespanMiddleware
from connexion.resolver import RelativeResolver
from starlette.types import ASGIApp, Receive, Scope, Send

from domain.policy import Policy
from server.api.client_address import ClientAddressResolver
from server.api.compiler import checked
from server.api.interfaces import (
    Challenges,
    Dependencies,
    Endpoint,
    NoChallenges,
    NoRefusals,
    Refusals,
    RequestHook,
    Sessions,
)
from server.api.pipeline import Pipeline
from server.api.security import security_map
from server.clock import Clock
from server.rate_limit.requests import RequestLimiter


def build(  # noqa: PLR0913
    document: dict[str, Any],
    *,
    policy: Policy,
    sessions: Sessions,
    endpoint: Endpoint,
    addresses: ClientAddressResolver,
    clock: Clock,
    disabled: frozenset[str] = frozenset(),
    lifespan: Lifespan | None = None,
    max_body: int = 65536,
    challenges: Challenges | None = None,
    refusals: Refusals | None = None,
    limiter: RequestLimiter | None = None,
    request_hook: RequestHook | None = None,
    handlers: str = "handlers",
) -> ASGIApp:
    """Return the ASGI application that serves a contract (OpenAPI 3.0, bundled, as a dictionary).

    `sessions` finds who calls, `endpoint` runs the handlers of the package `handlers`, `addresses` resolves
    the client's address, `clock` tells the time, `refusals` keeps what the pipeline refuses on record, `limiter`
    counts requests, `request_hook` is called for every response.
    `disabled` names operationIds that are switched off as a whole: their paths do not exist.
    `max_body` is in bytes.
    Raises Connexion's InvalidSpecification and ResolverError, ValueError and TypeError when the contract cannot be
    served as it is written.
    """
    dependencies = Dependencies(
        sessions,
        challenges or NoChallenges(),
        endpoint,
        addresses,
        clock,
        refusals or NoRefusals(),
        limiter,
        request_hook,
    )
    pipeline = Pipeline(
        LifespanMiddleware(_nowhere, lifespan=lifespan),
        policy=policy,
        dependencies=dependencies,
        disabled=disabled,
        max_body=max_body,
    )
    pipeline.add_api(
        checked(document),
        base_path=policy.base_path,
        resolver=RelativeResolver(handlers),
        security_map=security_map(policy.cookies),
    )
    return pipeline


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand behind the pipeline, where only a WebSocket can arrive: this service has none."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
