"""The same contract on stock Connexion with its default middlewares: what the compiled pipeline is compared with."""

import functools
import inspect
from keyword import iskeyword
from typing import Any

from connexion import AsyncApp, ConnexionMiddleware
from connexion.middleware.swagger_ui import SwaggerUIMiddleware
from connexion.resolver import RelativeResolver
from connexion.security import ApiKeySecurityHandler, BasicSecurityHandler, BearerSecurityHandler
from connexion.utils import get_function_from_name

from tests.server.api.conftest import TOKEN

OPERATING = [one for one in ConnexionMiddleware.default_middlewares if one is not SwaggerUIMiddleware]
"""All but the pages beside the contract: they are templates, and server/api loads Connexion without those."""


def stock_app(document: dict[str, Any]) -> AsyncApp:
    """Return Connexion's own application over a contract; each handler is replaced by one that tells its arguments."""
    app = AsyncApp(
        __name__,
        pythonic_params=True,
        security_map={"bearer": Bearer, "basic": Basic, "apiKey": Cookie},
        middlewares=OPERATING,
    )
    app.add_api(document, resolver=RelativeResolver("handlers", function_resolver=_teller), base_path="")
    return app


def told(operation_id: str, handler: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what both sides answer: the operation, and every argument its handler takes, absent ones as None."""
    taken = [name for name in inspect.signature(handler).parameters if name != "ctx"]
    return {"operation": operation_id, "arguments": {name: arguments.get(name) for name in taken}}


def _teller(name: str) -> Any:
    handler = get_function_from_name(f"{name}_" if iskeyword(name.rpartition(".")[2]) else name)

    @functools.wraps(handler)
    async def tell(**arguments: Any) -> Any:
        # Connexion wants to hear the type where the contract documents several, as for the error page.
        return (
            told(name.removeprefix("handlers."), handler, arguments),
            200,
            {"Content-Type": "application/json"},
        )

    return tell


async def _who_has(token: str, required_scopes: Any = None) -> dict[str, Any] | None:
    return {"sub": token} if token == TOKEN else None


async def _no_client(username: str, password: str, required_scopes: Any = None) -> None:
    return None


class Bearer(BearerSecurityHandler):  # type: ignore[misc]
    """Connexion's bearer check with our one session."""

    def _resolve_func(self, security_scheme: Any) -> Any:
        return _who_has


class Basic(BasicSecurityHandler):  # type: ignore[misc]
    """Connexion's check of clients, of which it knows none."""

    def _resolve_func(self, security_scheme: Any) -> Any:
        return _no_client


class Cookie(ApiKeySecurityHandler):  # type: ignore[misc]
    """Connexion's cookie check with our one session."""

    def _resolve_func(self, security_scheme: Any) -> Any:
        return _who_has
