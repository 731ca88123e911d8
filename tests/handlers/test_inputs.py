"""What every operation refuses before its own rules: read from the contract, through the public door."""

import json
from typing import Any

import httpx
import pytest
from jsonschema_rs import Draft202012Validator

from codegen.walk import Operation, resolve
from models import Session, User
from tests.conftest import MakeService
from tests.contract.json_schemas import with_components
from tests.contract.reading import DOCUMENT_3_1, OWN_OPERATIONS, bodies, parameters
from tests.handlers.steps import (
    ADA,
    code,
    count,
    credentials_for,
    join,
    refusal,
    user_of,
)
from tests.security.conftest import UNLIMITED
from tests.service import PASSWORD, Service

NUL: list[Any] = ["a\x00b", "\x00", "ada@example.com\x00", ["\x00" * 32], {"\x00": "\x00"}]
"""What no field takes, and PostgreSQL could not store."""

WRONG: list[Any] = [1, True, [], {}, None, 1.5, ["x"], {"toString": "x"}]
"""What few fields take."""

POSTS = {
    name: operation
    for name, operation in OWN_OPERATIONS.items()
    if operation.method == "post" and "application/json" in bodies(operation)
}

LISTS = {"filterValue"}
"""The parameters that may be given several times."""

NEIGHBOURS = [
    "//localhost", "http://localhost@evil.test", "http://user@localhost/", "http://localhost%40evil.test",
    "http://localhost.evil.test", "http://localhost:3000.evil.test", "http://evillocalhost",
    "http://localhost:443@evil.test", "https://evil.test\\@localhost", "https://evil.test#@localhost",
    "https://evil.test/?x=http://localhost", "http://localhost%00.evil.test", "http://localhost:3000/ x",
    "https://localhost", "https://localhost:8443", "ftp://localhost", "blob:http://localhost/x", "//[::1]",
    "http://[::1]:8000/", "http://127.1/", "http://2130706433/", "myapp://callback",
]  # fmt: skip
"""What is near `http://localhost`, which is trusted in development, and is not trusted."""


def schema_of(operation: Operation) -> dict[str, Any]:
    """Return the schema of a JSON body, references followed."""
    return resolve(DOCUMENT_3_1, bodies(operation)["application/json"]["schema"])


def example_of(operation: Operation) -> dict[str, Any]:
    """Return a body that fits, holding every field that is required."""
    body: dict[str, Any] = _example_in(schema_of(operation))
    return body


def _example_in(schema: dict[str, Any]) -> Any:
    schema = resolve(DOCUMENT_3_1, schema)
    if "examples" in schema:
        return schema["examples"][0]
    return {name: _example_in(schema["properties"][name]) for name in schema.get("required", [])}


def query_parameters() -> list[Any]:
    """Return every query parameter that can be refused, as (operation, name).

    There is no 400 in the contract where a provider sends a browser: whatever comes along, the browser is led on.
    """
    return [
        pytest.param(operation, parameter["name"], id=f"{name} {parameter['name']}")
        for name, operation in OWN_OPERATIONS.items()
        for parameter in parameters(operation)
        if parameter["in"] == "query" and "400" in operation.spec["responses"]
    ]


def protected() -> dict[str, Operation]:
    """Return the operations that let nobody in without a session, or without a pending sign-in."""
    securities = {
        name: operation.spec.get("security", DOCUMENT_3_1["security"])
        for name, operation in OWN_OPERATIONS.items()
    }
    return {
        name: OWN_OPERATIONS[name] for name, security in securities.items() if security and {} not in security
    }


def allows(operation: Operation, field: str, value: Any) -> bool:
    """Return whether the schema of a field lets a value pass."""
    schema = with_components(schema_of(operation)["properties"][field], DOCUMENT_3_1)
    return Draft202012Validator(schema).is_valid(value)


def by_name(operations: dict[str, Operation]) -> list[Any]:
    return [pytest.param(operation, id=name) for name, operation in operations.items()]


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service without limits: these tests ask more often than a client may."""
    return await make_service(UNLIMITED)


class TestFields:
    @pytest.mark.threat("V9", "R32", "R36")
    @pytest.mark.parametrize("operation", by_name(POSTS))
    async def test_refuses_every_wrong_type_and_nul_by_the_name_of_the_field(
        self, service: Service, operation: Operation
    ) -> None:
        session = await join(service)
        before, headers = await user_of(service, session), credentials_for(operation, session)

        for field in schema_of(operation).get("properties", {}):
            wrong = [value for value in WRONG if not allows(operation, field, value)]
            for value in [*wrong, *NUL]:
                body = {**example_of(operation), field: value}
                answer = await service.post(operation.path, body, headers=headers)
                assert refusal(answer)[:2] == (400, "VALIDATION_ERROR"), (field, value)
                assert answer.json()["message"].startswith(f"[body.{field}"), (field, value)

        assert await user_of(service, session) == before
        assert (await count(service, User), await count(service, Session)) == (1, 1)

    @pytest.mark.parametrize("flag", ["yes", "", "1", 0, 1, "true ", " true", "truefalse", "TRUE\n"])
    async def test_a_switch_is_true_or_false(self, service: Service, flag: Any) -> None:
        ada = await join(service)

        answers = [
            await service.post("/sign-in/email", {"email": ADA, "password": "x", "rememberMe": flag}),
            await service.post(
                "/change-password",
                {"currentPassword": "x", "newPassword": "x", "revokeOtherSessions": flag},
                headers=ada,
            ),
        ]

        assert [code(answer) for answer in answers] == ["400 VALIDATION_ERROR"] * 2


class TestBodies:
    @pytest.mark.threat("V12", "R26")
    @pytest.mark.parametrize("operation", by_name(POSTS))
    async def test_must_be_json_objects_with_every_required_field(
        self, service: Service, operation: Operation
    ) -> None:
        ada = credentials_for(operation, await join(service))

        async def send(body: bytes, media_type: str = "application/json") -> httpx.Response:
            headers = {**ada, "Content-Type": media_type}
            return await service.client.post(operation.path, content=body, headers=headers)

        for body in (b"{", b'{"a": NaN}', b"\xef\xbb\xbf{}", b'{"a": "\xff"}', b'{"a": "\\ud800"}'):
            answer = await send(body)
            assert refusal(answer) == (400, "BAD_REQUEST", "Invalid JSON in request body")
        for media_type in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
        ):
            assert code(await send(b'{"email":"a@b.c"}', media_type)) == "415 UNSUPPORTED_MEDIA_TYPE"
        for body in (b"[]", b"1", b'"x"', b"null", b"true", b'["\\u0000"]'):
            answer = await send(body)
            assert refusal(answer) == (400, "VALIDATION_ERROR", "[body] must be an object")
            assert answer.json()["fields"] == []
        for field in schema_of(operation).get("required", []):
            incomplete = {name: value for name, value in example_of(operation).items() if name != field}
            answer = await service.post(operation.path, incomplete, headers=ada)
            assert refusal(answer) == (400, "VALIDATION_ERROR", f"[body.{field}] is required")


class TestAuthenticationFirst:
    @pytest.mark.parametrize("operation", by_name(protected()))
    async def test_without_a_session_nothing_else_is_told(
        self, service: Service, operation: Operation
    ) -> None:
        pending = "pendingBearerAuth" in json.dumps(operation.spec.get("security"))
        expected = "401 INVALID_TWO_FACTOR_COOKIE" if pending else "401 UNAUTHORIZED"

        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer " + "x" * 32}):
            for content in (b"", b"{}", b"{", b"[]", b"x=y"):
                answer = await service.client.request(
                    operation.method,
                    f"{operation.path}?token=a&token=b&callbackURL=//evil.test",
                    content=content,
                    headers={**headers, "Origin": "https://evil.test"},
                )
                assert code(answer) == expected


class TestRedirectTargets:
    @pytest.mark.threat("V5", "V6")
    async def test_trust_no_neighbour_of_localhost(self, service: Service) -> None:
        await join(service)

        for target in NEIGHBOURS:
            body = {"email": ADA, "password": PASSWORD, "callbackURL": target}
            answer = await service.post("/sign-in/email", body)
            assert refusal(answer) == (403, "INVALID_CALLBACK_URL", "Invalid callbackURL"), target

        assert await count(service, Session) == 1

    async def test_comes_after_the_form_of_the_other_fields(self, service: Service) -> None:
        answer = await service.post("/sign-in/email", {"email": ADA, "callbackURL": "https://evil.test"})

        assert code(answer) == "400 VALIDATION_ERROR"


class TestQueries:
    @pytest.mark.threat("V9")
    @pytest.mark.parametrize(("operation", "name"), query_parameters())
    async def test_take_each_parameter_once_and_without_nul(
        self, service: Service, operation: Operation, name: str
    ) -> None:
        ada = await join(service)
        path = operation.path.replace("{token}", "x" * 32).replace("{provider}", "github")
        others = "&token=x" if operation.path == "/verify-email" and name != "token" else ""

        twice = await service.get(f"{path}?{name}=true&{name}=true{others}", headers=ada)
        nul = await service.get(f"{path}?{name}=%00{others}", headers=ada)

        refused = [nul] if name in LISTS else [twice, nul]
        if operation.path == "/error":  # a page, which says what is wrong in its own way
            assert {answer.status_code for answer in refused} == {400}
            return
        assert {code(answer) for answer in refused} == {"400 VALIDATION_ERROR"}
        assert all(answer.json()["message"].startswith(f"[query.{name}") for answer in refused)
