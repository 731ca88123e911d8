"""The operations that the contract describes and nobody has built: known, guarded, validated, and then 501."""

from typing import Any

import pytest

from codegen.walk import Operation, resolve
from tests.conftest import Headers, SignIn
from tests.contract.reading import DOCUMENT_3_1, OPERATIONS, bodies
from tests.handlers.steps import code, join, refusal
from tests.service import Service

NOT_BUILT = {
    name: operation
    for name, operation in OPERATIONS.items()
    if operation.spec["tags"][0] == "accounts" or name == "authentication.sign_in_social"
}
PUBLIC = {"authentication.sign_in_social", "accounts.receive_callback", "accounts.relay_callback"}
EMPTY_HANDED = {name: "501 NOT_IMPLEMENTED" if name in PUBLIC else "401 UNAUTHORIZED" for name in NOT_BUILT}


@pytest.fixture
def dialect() -> str:
    """One database is enough: what is not built keeps nothing in it."""
    return "sqlite"


def operations() -> list[Any]:
    return [pytest.param(operation, id=name) for name, operation in NOT_BUILT.items()]


def examples_of(operation: Operation) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the contract's own example of a JSON body and of a form; one of them, or both, is empty."""
    content = bodies(operation)
    json, form = content.get("application/json", {}), content.get("application/x-www-form-urlencoded", {})
    return _example(json), _example(form)


def _example(media: dict[str, Any]) -> dict[str, Any]:
    if "examples" in media:
        first = next(iter(media["examples"].values()))
        value: dict[str, Any] = resolve(DOCUMENT_3_1, first)["value"]
        return value
    example: dict[str, Any] = media.get("example", {})
    return example


async def send(service: Service, operation: Operation, headers: Headers, **changes: Any) -> Any:
    """Send what the contract shows as an example, without the redirect targets, which nobody trusts here."""
    json, form = examples_of(operation)
    body = {key: value for key, value in {**json, **changes}.items() if not key.endswith("URL")}
    path = operation.path.replace("{provider}", "github")
    sent: dict[str, Any] = {"data": form} if form else {"json": body} if operation.method == "post" else {}
    return await service.client.request(operation.method, path, headers=headers, **sent)


def test_there_are_nine() -> None:
    assert len(NOT_BUILT) == 9


@pytest.mark.parametrize("operation", operations())
class TestNotBuiltYet:
    async def test_a_caller_hears_so(self, service: Service, sign_up: SignIn, operation: Operation) -> None:
        ada = await sign_up()

        answer = await send(service, operation, ada)

        assert refusal(answer) == (501, "NOT_IMPLEMENTED", "Not implemented yet")
        assert "set-cookie" not in answer.headers

    async def test_nobody_else_hears_more_than_elsewhere(
        self, service: Service, operation: Operation
    ) -> None:
        answer = await send(service, operation, {})

        assert code(answer) == EMPTY_HANDED[operation.spec["operationId"]]

    async def test_what_is_malformed_is_refused_first(self, service: Service, operation: Operation) -> None:
        if operation.method != "post" or "{provider}" in operation.path:
            return
        ada = await join(service)

        answer = await service.client.post(
            operation.path, content=b"{", headers={**ada, "Content-Type": "application/json"}
        )

        assert code(answer) == "400 BAD_REQUEST"
