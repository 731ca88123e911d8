"""The operations of openapi/paths/service.yaml, through the public door."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest
from sqlalchemy import text

from models import Session
from tests.conftest import MakeService
from tests.handlers.steps import count, execute, join, refusal
from tests.postgres import Cluster
from tests.service import Service, close_service, open_service

UNAVAILABLE = (503, "SERVICE_UNAVAILABLE", "Service unavailable")
PRODUCTION = {
    "profile": "production",
    "base_url": "https://auth.example.com",
    "secrets": "an old secret of thirty-two bytes",
}


@pytest.fixture
async def stopped(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    """A service of its own that has begun to shut down."""
    url = f"sqlite:///{tmp_path / 'gatewright.db'}"
    if dialect == "postgresql":
        url = request.getfixturevalue("cluster").create(migrated=True)
    service = await open_service(url, tmp_path, {})
    service.services.refuse_new_work()
    yield service
    await close_service(service)


@pytest.mark.operation("service.check_health")
class TestCheckHealth:
    async def test_says_that_the_service_is_there(self, service: Service) -> None:
        answer = await service.get("/ok")

        assert (answer.status_code, answer.json()) == (200, {"ok": True})

    async def test_touches_nothing(self, service: Service) -> None:
        ada = await join(service)
        service.clock.advance(days=2)

        await service.get("/ok", headers=ada)

        [row] = await service.rows("SELECT created_at, updated_at FROM session")
        assert row.created_at == row.updated_at
        assert await count(service, Session) == 1


@pytest.mark.operation("service.check_readiness")
class TestCheckReadiness:
    async def test_says_that_requests_can_be_served(self, service: Service) -> None:
        answer = await service.get("/ready")

        assert (answer.status_code, answer.json()) == (200, {"ready": True})

    async def test_refuses_while_the_service_stops_which_is_healthy_to_the_end(
        self, stopped: Service
    ) -> None:
        answer = await stopped.get("/ready")

        assert refusal(answer) == UNAVAILABLE
        assert answer.headers["retry-after"] == "5"
        assert (await stopped.get("/ok")).json() == {"ok": True}

    async def test_refuses_while_the_schema_is_not_current(self, service: Service) -> None:
        [row] = await service.rows("SELECT version_num AS current FROM alembic_version")

        await execute(service, "UPDATE alembic_version SET version_num = '0000'")
        other = await service.get("/ready")
        await execute(service, "DELETE FROM alembic_version")
        none = await service.get("/ready")
        await execute(service, f"INSERT INTO alembic_version VALUES ('{row.current}')")

        assert [refusal(answer) for answer in (other, none)] == [UNAVAILABLE] * 2
        assert (await service.get("/ready")).status_code == 200

    async def test_refuses_while_there_is_no_schema(self, service: Service) -> None:
        await execute(service, "ALTER TABLE alembic_version RENAME TO gone")
        answers = [await service.get(path) for path in ("/ready", "/ready", "/ok")]
        await execute(service, "ALTER TABLE gone RENAME TO alembic_version")

        assert [refusal(answer) for answer in answers[:2]] == [UNAVAILABLE] * 2
        assert answers[2].status_code == 200
        assert (await service.get("/ready")).status_code == 200

    async def test_a_table_that_is_gone_is_a_defect_of_those_who_read_it(self, service: Service) -> None:
        ada = await join(service)
        await execute(service, "ALTER TABLE session RENAME TO gone")
        broken = await service.get("/get-session", headers=ada)
        other = await service.get("/ok")
        await execute(service, "ALTER TABLE gone RENAME TO session")

        assert refusal(broken) == (500, "INTERNAL_SERVER_ERROR", "Internal server error")
        assert other.status_code == 200
        assert (await service.get("/get-session", headers=ada)).status_code == 200

    async def test_refuses_while_the_database_does_not_answer(self, cluster: Cluster, tmp_path: Path) -> None:
        service = await open_service(cluster.create(migrated=True), tmp_path, {})

        async with service.services.database.transaction() as session:
            await session.execute(text("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE"))
            blocked = await service.get("/ready")
        free = await service.get("/ready")

        await close_service(service)
        assert refusal(blocked) == UNAVAILABLE
        assert free.status_code == 200


@pytest.mark.operation("service.show_error")
class TestShowError:
    @pytest.mark.parametrize("error", ["a", "x" * 64, "it's-SO_9"])
    async def test_shows_the_error(self, service: Service, error: str) -> None:
        answer = await service.get("/error", params={"error": error})

        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert f"<code>{error}</code>" in unescape(answer.text)

    @pytest.mark.threat("V81")
    @pytest.mark.parametrize(
        "query",
        ["", "?error=", "?error=" + "x" * 65, "?error=a%20b", "?error=<b>", "?error=a%0A", "?error=a.b"],
    )
    async def test_shows_no_other_text_as_an_error(self, service: Service, query: str) -> None:
        answer = await service.get(f"/error{query}")

        assert "<code>UNKNOWN</code>" in answer.text

    @pytest.mark.threat("V81")
    async def test_escapes_the_description_and_cuts_it_at_200_characters(self, service: Service) -> None:
        hostile = "<script>alert('1')</script><a href=\"https://evil.test\">x</a>&{{7*7}}"
        description = hostile + "\U0001f600" * (200 - len(hostile)) + "Z"

        answer = await service.get("/error", params={"error": "x", "error_description": description})

        assert hostile not in answer.text
        assert "<script>" not in answer.text
        assert 'evil.test">' not in answer.text
        assert f">{description[:200]}</bdi>" in unescape(answer.text)
        assert "\U0001f600Z" not in answer.text

    async def test_links_only_to_files_of_the_service(self, service: Service) -> None:
        page = (await service.get("/error?error=x")).text
        targets = re.findall(r'(?:href|src)="([^"]*)"', page)

        assert all(target.startswith(("/account/static/", "#", "data:,")) for target in targets)
        assert all(word not in page for word in ("http-equiv", "<form"))

    async def test_is_the_same_in_production(self, make_service: MakeService) -> None:
        development = await (await make_service()).get("/error?error=access_denied&error_description=No.")
        production = await (await make_service(PRODUCTION)).get(
            "/error?error=access_denied&error_description=No."
        )

        assert production.text == development.text

    async def test_carries_the_name_of_the_application(self, make_service: MakeService) -> None:
        service = await make_service({"app_name": "Ada & Sons <3"})

        assert "Ada &amp; Sons &lt;3" in (await service.get("/error")).text
