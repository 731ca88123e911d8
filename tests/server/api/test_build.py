"""Contracts that cannot be served as they are written: all of them are refused by a check, some by a start."""

from collections.abc import Callable
from typing import Any

import pytest
from connexion.exceptions import InvalidSpecification, ResolverError

from codegen.bundle import EXTENSION, bundle
from server.api import build
from tests.server.api.conftest import MakePeer, Memory, dependencies, policy
from tests.server.api.small_contract import document

Spoil = Callable[[dict[str, Any]], object]


def with_parameter(**parameter: Any) -> Spoil:
    """Return an operation a parameter."""
    return lambda document: operation(document, "/ok", "get").update(parameters=[parameter])


def with_scheme(**scheme: str) -> Spoil:
    """Replace the cookie's security scheme."""
    return lambda document: document["components"]["securitySchemes"].update(cookieAuth=scheme)


def with_extension(**extension: Any) -> Spoil:
    """Return an operation an extension."""
    return lambda document: operation(document, "/ok", "get").update({EXTENSION: extension})


def with_target(document: dict[str, Any]) -> None:
    """Add a redirect target that no refusal is named for."""
    content = operation(document, "/sign-in/email", "post")["requestBody"]["content"]["application/json"]
    content["schema"]["properties"]["elsewhere"] = {"type": "string", "format": "redirect-target"}


def operation(document: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    """Return an operation of a contract."""
    found: dict[str, Any] = document["paths"][path][method]
    return found


REFUSED: dict[str, tuple[Spoil, type[Exception], str]] = {
    "invalid": (lambda it: operation(it, "/ok", "get").pop("responses"), InvalidSpecification, "responses"),
    "an unknown key": (lambda it: operation(it, "/ok", "get").update(surprise=1), InvalidSpecification, "surprise"),
    "an unknown type": (
        lambda it: it["components"].update(schemas={"User": {"type": "person"}}), InvalidSpecification, "User",
    ),
    "no handler": (
        lambda it: operation(it, "/ok", "get").update(operationId="service.nobody"), ResolverError, "nobody",
    ),
    "two operations of one name": (
        lambda it: it["paths"].update({"/twin": it["paths"]["/ok"]}),
        ValueError, r"two operations service\.check_health",
    ),
    "no security": (lambda it: it.pop("security"), ValueError, "states no security"),
    "a token in the query": (
        with_scheme(**{"type": "apiKey", "in": "query", "name": "token"}), ValueError, "no check exists",
    ),
    "an unknown scheme": (with_scheme(type="http", scheme="digest"), ValueError, "no check exists"),
    "no cookie": (with_scheme(type="http", scheme="bearer"), ValueError, "both Bearer header and cookie"),
    "schemes wanted together": (
        lambda it: it.update(security=[{"bearerAuth": [], "cookieAuth": []}]), ValueError, "no check exists",
    ),
    "other parameters than the handler": (
        lambda it: operation(it, "/revoke-session", "post").pop("requestBody"),
        TypeError, r"revoke must take exactly \['ctx'\]",
    ),
    "a target without a refusal": (with_target, ValueError, "elsewhere"),
    "a header": (with_parameter(**{"name": "x", "in": "header", "schema": {"type": "string"}}), ValueError, "read"),
    "an object in the query": (
        with_parameter(**{"name": "x", "in": "query", "schema": {"type": "object"}}), ValueError, "read",
    ),
    "an unknown extension": (with_extension(signsin=True), ValueError, "signsin"),
    "an extension of another type": (with_extension(rateLimited="no"), ValueError, "rateLimited"),
    "a switch without a name": (with_extension(switch=True), ValueError, "switch"),
    "an account that is no page": (with_extension(account="own"), ValueError, "only pages"),
    "a fresh session for no page": (with_extension(fresh=True), ValueError, "only pages"),
}  # fmt: skip
"""Contracts that cannot be served: what is wrong with each, and what is said of it."""


class TestBuild:
    def test_every_operation_of_the_contract_can_be_served(self) -> None:
        contract = bundle(internal=True)

        build(contract, dependencies(Memory({})), policy=policy(), is_checked=False)

    @pytest.mark.parametrize("what", REFUSED)
    def test_refuses(self, make_peer: MakePeer, what: str) -> None:
        spoil, error, words = REFUSED[what]
        contract = document()
        spoil(contract)

        with pytest.raises(error, match=words):
            make_peer(contract=contract)

    def test_refuses_to_switch_off_what_does_not_exist(self, make_peer: MakePeer) -> None:
        with pytest.raises(ValueError, match=r"sessions\.nothing"):
            make_peer(disabled=frozenset({"sessions.nothing"}))


class TestLifespan:
    async def test_websockets_are_turned_away(self, make_peer: MakePeer) -> None:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await make_peer().app({"type": "websocket", "path": "/ok"}, receive, send)

        assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 1000)]
