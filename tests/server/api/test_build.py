"""What stops the start: a contract that cannot be served as it is written."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from connexion.exceptions import InvalidSpecification, ResolverError

from codegen.bundle import EXTENSION
from server.api import build
from server.api.client_address import ClientAddressResolver
from tests.server.api.conftest import NOW, MakePeer, Memory, policy
from tests.server.api.small_contract import document


class TestBuild:
    def test_refuses_an_invalid_document(self, make_peer: MakePeer) -> None:
        contract = document()
        del contract["paths"]["/ok"]["get"]["responses"]

        with pytest.raises(InvalidSpecification):
            make_peer(contract=contract)

    def test_refuses_an_operation_without_a_handler(self, make_peer: MakePeer) -> None:
        contract = document()
        contract["paths"]["/ok"]["get"]["operationId"] = "service.nobody"

        with pytest.raises(ResolverError):
            make_peer(contract=contract)

    def test_refuses_two_operations_of_one_name(self, make_peer: MakePeer) -> None:
        contract = document()
        contract["paths"]["/twin"] = contract["paths"]["/ok"]

        with pytest.raises(ValueError, match=r"two operations service\.check_health"):
            make_peer(contract=contract)

    def test_refuses_an_operation_whose_security_is_not_stated(self, make_peer: MakePeer) -> None:
        contract = document()
        del contract["security"]

        with pytest.raises(ValueError, match="states no security"):
            make_peer(contract=contract)

    @pytest.mark.parametrize(
        ("scheme", "message"),
        [
            ({"type": "apiKey", "in": "query", "name": "token"}, "no check exists"),
            ({"type": "http", "scheme": "digest"}, "no check exists"),
            ({"type": "http", "scheme": "bearer"}, "both Bearer header and cookie"),
        ],
    )
    def test_refuses_a_security_scheme_it_cannot_check(
        self, make_peer: MakePeer, scheme: dict[str, Any], message: str
    ) -> None:
        contract = document()
        contract["components"]["securitySchemes"]["cookieAuth"] = scheme

        with pytest.raises(ValueError, match=message):
            make_peer(contract=contract)

    def test_refuses_schemes_that_are_wanted_together(self, make_peer: MakePeer) -> None:
        contract = document()
        contract["security"] = [{"bearerAuth": [], "cookieAuth": []}]

        with pytest.raises(ValueError, match="no check exists"):
            make_peer(contract=contract)

    def test_refuses_a_handler_with_other_parameters(self, make_peer: MakePeer) -> None:
        contract = document()
        del contract["paths"]["/revoke-session"]["post"]["requestBody"]

        with pytest.raises(TypeError, match=r"revoke must take exactly \['ctx'\]"):
            make_peer(contract=contract)

    def test_refuses_a_redirect_target_without_a_refusal(self, make_peer: MakePeer) -> None:
        contract = document()
        schema = contract["paths"]["/sign-in/email"]["post"]["requestBody"]["content"]["application/json"][
            "schema"
        ]
        schema["properties"]["elsewhere"] = {"type": "string", "format": "redirect-target"}

        with pytest.raises(ValueError, match="elsewhere"):
            make_peer(contract=contract)

    @pytest.mark.parametrize(
        "parameter",
        [
            {"name": "x-kind", "in": "header", "schema": {"type": "string"}},
            {"name": "kind", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        ],
    )
    def test_refuses_a_parameter_it_cannot_read(self, make_peer: MakePeer, parameter: dict[str, Any]) -> None:
        contract = document()
        contract["paths"]["/ok"]["get"]["parameters"] = [parameter]

        with pytest.raises(ValueError, match="read"):
            make_peer(contract=contract)

    @pytest.mark.parametrize("extension", [{"signsin": True}, {"rateLimited": "no"}, {"switch": True}])
    def test_refuses_an_extension_it_cannot_read(
        self, make_peer: MakePeer, extension: dict[str, Any]
    ) -> None:
        contract = document()
        contract["paths"]["/ok"]["get"][EXTENSION] = extension

        with pytest.raises(ValueError, match=next(iter(extension))):
            make_peer(contract=contract)

    def test_refuses_to_switch_off_what_does_not_exist(self, make_peer: MakePeer) -> None:
        with pytest.raises(ValueError, match=r"sessions\.nothing"):
            make_peer(disabled=frozenset({"sessions.nothing"}))


class TestLifespan:
    async def test_is_run_once_around_the_service(self) -> None:
        seen: list[str] = []

        @contextlib.asynccontextmanager
        async def lifespan(_: Any) -> AsyncIterator[None]:
            seen.append("open")
            yield
            seen.append("close")

        memory = Memory({})
        app = build(
            document(),
            policy=policy(),
            sessions=memory,
            endpoint=memory,
            addresses=ClientAddressResolver([]),
            clock=lambda: NOW,
            lifespan=lifespan,
            handlers="tests.server.api.echoes",
        )
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            seen.append(message["type"])

        await app({"type": "lifespan", "state": {}}, receive, send)

        assert seen == ["open", "lifespan.startup.complete", "close", "lifespan.shutdown.complete"]

    async def test_websockets_are_turned_away(self, make_peer: MakePeer) -> None:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await make_peer().app({"type": "websocket", "path": "/ok"}, receive, send)

        assert sent == [{"type": "websocket.close", "code": 1000}]
