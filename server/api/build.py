"""The pipeline of a contract: Connexion reads it, and everything is compiled before the first request."""

from typing import Any, ClassVar

from connexion.resolver import RelativeResolver
from connexion.spec import OpenAPISpecification
from jsonschema_rs import Draft4Validator
from starlette.routing import Router
from starlette.types import ASGIApp, Lifespan

from domain.policy import Policy
from server.api.compiler import CompiledApi
from server.api.interfaces import Dependencies
from server.api.pipeline import Pipeline
from server.api.security import security_map


class _ValidSpecification(OpenAPISpecification):
    """A contract that has been validated: every document satisfies this schema."""

    openapi_schema: ClassVar[dict[str, Any]] = {}


def build(
    document: dict[str, Any],
    dependencies: Dependencies,
    *,
    policy: Policy,
    disabled: frozenset[str] = frozenset(),
    lifespan: Lifespan[Any] | None = None,
    max_body: int = 65536,
    handlers: str = "handlers",
) -> ASGIApp:
    """Return the ASGI application that serves a contract (OpenAPI 3.0, bundled) with the package `handlers`.

    `disabled` names operationIds that are switched off: their paths do not exist. `max_body` is in bytes.

    Raises:
        InvalidSpecification, ResolverError: Connexion's, for an invalid contract and for a missing handler.
        ValueError, TypeError: the contract cannot be served as it is written.
    """
    api = CompiledApi(
        load_specification(document),
        policy=policy,
        dependencies=dependencies,
        disabled=disabled,
        base_path=policy.base_path,
        resolver=RelativeResolver(handlers),
        security_map=security_map(policy.cookies),
    )
    # The router has no routes: it runs the lifespan, and refuses WebSockets.
    return Pipeline(
        api.routes,
        Router(lifespan=lifespan),
        policy=policy,
        dependencies=dependencies,
        json=api.json,
        pages=api.pages,
        max_body=max_body,
    )


def load_specification(document: dict[str, Any]) -> OpenAPISpecification:
    """Return Connexion's form of a contract. Raises InvalidSpecification.

    Connexion's own validation costs a quarter of the startup, so a validator in Rust checks the same schema first.
    Connexion validates only what it rejects, to say what is wrong.
    """
    is_valid = Draft4Validator(OpenAPISpecification.openapi_schema).is_valid(document)
    return (_ValidSpecification if is_valid else OpenAPISpecification)(document)
