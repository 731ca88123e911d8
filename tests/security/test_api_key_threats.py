"""Rows KEY1 to KEY25, as far as tests/handlers/test_api_keys.py does not show them: API keys."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from domain.api_keys import key_text
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.steps import bearer, execute, token_of
from tests.handlers.test_api_keys import ask
from tests.service import BASE_URL, Service
from tests.settings.api_keys import VERIFIER

Create = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    return await sign_up()


@pytest.fixture
def create(service: Service, ada: Headers) -> Create:
    async def create(**body: Any) -> dict[str, Any]:
        answer = await service.post("/api-key/create", body, headers=ada)
        assert answer.status_code == 200, answer.text
        made: dict[str, Any] = answer.json()
        return made

    return create


async def code(service: Service, key: str) -> str:
    """Return the reason why a key is refused, or an empty text."""
    verdict = (await ask(service, key)).json()
    return "" if verdict["valid"] else str(verdict["error"]["code"])


def statements(service: Service) -> list[str]:
    """Collect the statements that are executed in transactions from now on."""
    seen: list[str] = []

    @contextmanager
    def hook(sql: str, _: object) -> Iterator[None]:
        seen.append(sql)
        yield

    service.services.database.hook = hook
    return seen


class TestCredentials:
    @pytest.mark.threat("KEY10")
    async def test_each_opens_only_its_own_door(self, make_service: MakeService, sign_up: SignIn) -> None:
        service = await make_service({"api_keys.sessions": "true"})
        ada = await sign_up(on=service)
        key = (await service.post("/api-key/create", {}, headers=ada)).json()["key"]
        cookie = service.services.policy.cookies.session_name

        for other in (token_of(ada), VERIFIER):
            assert await code(service, other) == "INVALID_API_KEY"
            assert (await service.get("/get-session", headers={"x-api-key": other})).status_code == 401
        for headers in (bearer(key), bearer(VERIFIER), {"Cookie": f"{cookie}={key}"}):
            assert (await service.get("/get-session", headers=headers)).status_code == 401
        assert (await service.get("/get-session", params={"x-api-key": key, "key": key})).status_code == 401

    @pytest.mark.threat("KEY13")
    async def test_a_copy_of_the_database_opens_nothing(self, service: Service, create: Create) -> None:
        made = await create()
        (row,) = await service.rows("SELECT digest, start FROM api_key")
        taken = (
            bytes(row.digest).hex(),
            key_text.create("gwk_"),
            row.start,
            row.start + "a" * 60,
            made["id"],
        )

        assert made["key"] not in str(tuple(row))
        for text in taken:
            assert await code(service, text) == "INVALID_API_KEY"
        assert await code(service, made["key"]) == ""

    @pytest.mark.threat("KEY13")
    async def test_keys_that_begin_alike_are_different_keys(self, service: Service, create: Create) -> None:
        one, other = await create(name="one"), await create(name="other")
        await execute(
            service, "UPDATE api_key SET start = 'gwk_same', prefix = 'gwk_', enabled = (name = 'one')"
        )

        assert [await code(service, key["key"]) for key in (one, other)] == ["", "KEY_DISABLED"]


class TestGuessing:
    @pytest.mark.threat("KEY14")
    async def test_strangers_are_limited_and_verifiers_are_not(
        self, make_service: MakeService, sign_up: SignIn
    ) -> None:
        service = await make_service({"limits.requests": "20"})
        key = (await service.post("/api-key/create", {}, headers=await sign_up(on=service))).json()["key"]
        for headers in ({}, bearer("w" * 40)):
            service.clock.advance(minutes=10)
            answers = [
                await service.post("/api-key/verify", {"key": key}, headers=headers) for _ in range(25)
            ]
            assert [answer.status_code for answer in answers] == [401] * 20 + [429] * 5

        assert [await code(service, key) for _ in range(25)] == [""] * 25

    @pytest.mark.threat("KEY15")
    async def test_refused_keys_cost_the_one_read_of_valid_ones(
        self, service: Service, create: Create
    ) -> None:
        disabled, expired, valid = await create(), await create(expiresIn=86400), await create()
        await execute(service, "UPDATE api_key SET enabled = false WHERE id = :id", id=disabled["id"])
        service.clock.advance(days=2)
        executed = statements(service)

        found = [await code(service, key) for key in (
            valid["key"], disabled["key"], expired["key"], key_text.create("gwk_"))]  # fmt: skip

        assert found == ["", "KEY_DISABLED", "KEY_EXPIRED", "INVALID_API_KEY"]
        # The read is outside any transaction, and nothing is written but the audit trail.
        assert [sql for sql in executed if "audit" not in sql] == []


class TestPaths:
    @pytest.mark.threat("KEY23")
    @pytest.mark.parametrize("path", ["//api-key/list", "/api-key/list/", "/API-KEY/list", "/api-key/List",
                                      "/api-key/delete-all-expired-api-keys", "/api-key/%2e%2e/list"])  # fmt: skip
    async def test_another_spelling_leads_nowhere(self, service: Service, ada: Headers, path: str) -> None:
        # As a whole URL: `//api-key/list` by itself would name a host.
        answer = await service.get(BASE_URL + path, headers=ada)

        assert answer.status_code == 404


class TestSecrecy:
    @pytest.mark.threat("KEY17")
    async def test_no_key_stands_in_the_log_or_the_audit_trail(
        self, service: Service, create: Create, log_stream: io.BytesIO
    ) -> None:
        made = await create(name="ci")
        for _ in range(2):
            await code(service, made["key"])
        await service.get("/get-session", params={"key": made["key"]}, headers={"x-api-key": made["key"]})
        await service.get(f"/api-key/{made['key']}")
        await execute(service, "UPDATE api_key SET enabled = false")
        await code(service, made["key"])
        await service.services.audit_writer.flush()

        trail = [tuple(row) for row in await service.rows("SELECT event, details FROM audit")]
        assert {"api_key.created", "api_key.refused"} <= {event for event, _ in trail}
        written = log_stream.getvalue().decode() + json.dumps(trail, default=str)
        assert made["id"] in written
        assert [secret for secret in (made["key"], made["key"][-20:], VERIFIER) if secret in written] == []


@pytest.mark.threat("KEY12")
async def test_no_key_is_made_with_a_session_that_ends_meanwhile(service: Service, ada: Headers) -> None:
    made, _ = await asyncio.gather(
        service.post("/api-key/create", {}, headers=ada),
        service.post("/revoke-sessions", {}, headers=ada),
    )

    assert (made.status_code == 200) == (len(await service.rows("SELECT id FROM api_key")) == 1)
    assert (await service.post("/api-key/create", {}, headers=ada)).status_code == 401
