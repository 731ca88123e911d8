"""The same contract and the same requests through stock Connexion and through the compiled pipeline.

Requests that fit the contract get the same status and body from both. Where behaviour.md asks for something
else than Connexion does, `DIFFERENCES` says what and why; every other difference fails.
"""

import copy
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from connexion.json_schema import resolve_refs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from codegen.bundle import EXTENSION, bundle
from codegen.walk import operations
from server.api import Operation, Request, build
from tests.server.api.conftest import BASE_URL, TOKEN, Memory, caller, dependencies, policy
from tests.server.api.generated import FORM, Sent, requests
from tests.server.api.stock import stock_app, told

BOUNDED = settings(
    max_examples=3,
    phases=[Phase.generate],
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
BEARER = {"authorization": f"Bearer {TOKEN}"}
TARGETS = ("callbackURL", "redirectTo", "errorCallbackURL", "newUserCallbackURL")

DOCUMENT = bundle()
RESOLVED = resolve_refs(copy.deepcopy(DOCUMENT))
OF_THE_PROTOCOL = {
    one.spec["operationId"]: one.spec[EXTENSION]["protocol"]
    for one in operations(bundle(internal=True))
    if "protocol" in one.spec.get(EXTENSION, {})
}
"""Operations that get their parameters as they were sent; their rules check them."""

OPERATIONS = {
    methods[method]["operationId"]: (
        method,
        path,
        {
            **methods[method],
            "parameters": [*methods[method].get("parameters", []), *methods.get("parameters", [])],
        },
    )
    for path, methods in RESOLVED["paths"].items()
    for method in ("get", "post")
    if method in methods and methods[method]["operationId"] not in OF_THE_PROTOCOL
}

Both = tuple[httpx.AsyncClient, httpx.AsyncClient]
Answers = tuple[httpx.Response, httpx.Response]
Difference = Callable[[Sent, httpx.Response, httpx.Response], bool]

DIFFERENCES: dict[str, Difference] = {
    "1.2: an optional body that is empty counts as {}; Connexion refuses it": lambda sent, stock, ours: (
        not sent.body and stock.status_code == 400 and ours.status_code == 200
    ),
    "1.6: redirect targets are checked before any handler; Connexion knows nothing of them": lambda _, stock, ours: (
        ours.status_code == 403 and stock.status_code == 200
    ),
    "1.3: a body over the limit is refused by its size; Connexion has no limit": lambda _, stock, ours: (
        ours.status_code == 413
    ),
}


def difference(sent: Sent, answers: Answers) -> str | None:
    """Return the reason why two answers may differ; None when there is none."""
    return next((reason for reason, holds in DIFFERENCES.items() if holds(sent, *answers)), None)


def with_empty_targets_absent(told_by_stock: Any) -> Any:
    """1.6: an empty redirect target counts as absent; Connexion hands it on."""
    arguments = told_by_stock["arguments"]
    for name in ("callback_url", "new_user_callback_url", "error_callback_url"):
        if arguments.get(name) == "":
            arguments[name] = None
    for name in TARGETS:
        if (arguments.get("body") or {}).get(name) == "":
            del arguments["body"][name]
    return told_by_stock


def for_stock() -> dict[str, Any]:
    """Return the contract with a type for every parameter: Connexion answers 500 where the schema of one is a choice,
    as that of flags is. Other references stay, or Connexion would check what they refer to again and again."""
    changed = copy.deepcopy(DOCUMENT)
    for path, methods in RESOLVED["paths"].items():
        for method in {"get", "post"} & methods.keys():
            parameters = copy.deepcopy(methods[method].get("parameters", []))
            for parameter in parameters:
                if "type" not in parameter["schema"]:
                    parameter["schema"] = {
                        "type": "string",
                        "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$",
                    }
            changed["paths"][path][method]["parameters"] = parameters
    return changed


def for_ours() -> dict[str, Any]:
    """Return the contract, with what it says to the service alone only where an operation is one of the protocol."""
    changed = copy.deepcopy(DOCUMENT)
    for one in operations(changed):
        if one.spec["operationId"] in OF_THE_PROTOCOL:
            one.spec[EXTENSION] = {"protocol": OF_THE_PROTOCOL[one.spec["operationId"]]}
    return changed


class Telling:
    """An endpoint that tells what the handler would have been called with."""

    async def __call__(self, operation: Operation, request: Request) -> Any:
        return told(operation.operation_id, operation.handler, request.arguments)


@pytest.fixture(scope="module")
async def both() -> AsyncIterator[Both]:
    """Clients of stock Connexion and of the pipeline, in this order."""
    ours = build(
        for_ours(),
        dependencies(Memory({TOKEN: caller()}), Telling()),
        policy=policy(),
    )
    clients = [
        httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url=BASE_URL)
        for app in (stock_app(for_stock()), ours)
    ]
    yield clients[0], clients[1]
    for client in clients:
        await client.aclose()


async def ask_both(both: Both, sent: Sent, headers: dict[str, str]) -> Answers:
    """Send one request to both."""
    content: dict[str, Any] = {}
    if sent.method == "POST":
        content = {"data": sent.body, "headers": {"content-type": FORM}} if sent.form else {"json": sent.body}
    options = {**content, "headers": {**content.get("headers", {}), **headers}}
    stock, ours = [
        await client.request(sent.method, sent.path, params=sent.query, **options) for client in both
    ]
    return stock, ours


@pytest.mark.parametrize("operation_id", sorted(OPERATIONS))
class TestDifferential:
    @BOUNDED
    @given(data=st.data())
    async def test_what_fits_is_answered_alike(
        self, both: Both, operation_id: str, data: st.DataObject
    ) -> None:
        method, path, operation = OPERATIONS[operation_id]
        sent = data.draw(requests(method, path, operation, wrong=False))

        stock, ours = await ask_both(both, sent, BEARER)

        if difference(sent, (stock, ours)) is None:
            assert (ours.status_code, stock.status_code) == (200, 200), f"{sent} {ours.text} {stock.text}"
            assert ours.json() == with_empty_targets_absent(stock.json())

    @BOUNDED
    @given(data=st.data())
    async def test_what_is_spoilt_is_refused_alike(
        self, both: Both, operation_id: str, data: st.DataObject
    ) -> None:
        method, path, operation = OPERATIONS[operation_id]
        sent = data.draw(requests(method, path, operation, wrong=True))

        stock, ours = await ask_both(both, sent, BEARER)

        if difference(sent, (stock, ours)) is None:
            assert ours.status_code == stock.status_code, f"{sent} {ours.text} {stock.text}"

    async def test_nobody_gets_in_alike(self, both: Both, operation_id: str) -> None:
        method, path, operation = OPERATIONS[operation_id]
        sent = Sent(method.upper(), path.replace("{", "").replace("}", ""), {}, {}, form=False)

        for value in (None, "Bearer nobody", "Basic YTpi"):
            stock, ours = await ask_both(both, sent, {} if value is None else {"authorization": value})

            # 3.2: where a session is optional, a token that opens none counts as absent; Connexion refuses it.
            is_lenient = {} in operation.get("security", []) and value == "Bearer nobody"
            assert (ours.status_code == 401) == (stock.status_code == 401 and not is_lenient), value
