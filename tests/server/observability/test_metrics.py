"""What is counted while the service works."""

import asyncio
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import text

from domain.errors import Overloaded
from server.components.metrics import Sampler
from server.crypto.password_hasher import HashingRules, PasswordHasher
from server.observability.metrics.registry import MetricsRegistry
from tests.conftest import MakeService, SignIn
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.postgres import Cluster
from tests.service import PASSWORD, Service, close_service, open_service
from tests.settings.api_keys import VERIFIER

COUNTED = {"metrics.port": "0"}
ADA = "ada@example.com"
NEW = {"name": "Ada", "email": ADA, "password": PASSWORD}

Values = dict[tuple[str, ...], float]


async def values(service: Service) -> Values:
    """Return all values of a service by `(name, *labels)`, after taking a sample."""
    parts = service.services
    assert parts.metrics is not None
    await Sampler(parts.metrics, parts.hasher, parts.database, service.clock).sample()
    return samples(parts.metrics)


def samples(metrics: MetricsRegistry) -> Values:
    """Return all values by `(name, *labels)`."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
    }


async def grown(service: Service, before: Values, *key: str) -> float:
    """Return by how much a value has grown."""
    return (await values(service)).get(key, 0) - before.get(key, 0)


class TestRegistry:
    def test_a_response_is_counted_in_the_buckets_of_its_time(self) -> None:
        metrics = MetricsRegistry()

        for seconds in (0.0004, 0.0005, 0.3, 11.0):
            metrics.request("sessions.get_current", 200, seconds)

        found, name = samples(metrics), "gatewright_request_seconds"
        buckets = [
            found[f"{name}_bucket", "sessions.get_current", bound] for bound in ("0.0005", "0.5", "+Inf")
        ]
        assert buckets == [2, 3, 4]
        assert found[f"{name}_sum", "sessions.get_current"] == pytest.approx(11.3009)
        assert found["gatewright_requests_total", "sessions.get_current", "200"] == 4

    def test_a_total_that_something_else_counts_is_taken_over(self) -> None:
        metrics = MetricsRegistry()

        for total in (3.0, 3.0, 5.0):
            metrics.advance(metrics.cpu_seconds, total)

        assert samples(metrics)["gatewright_process_cpu_seconds_total",] == 5


class TestService:
    async def test_counts_requests_by_operation_and_status(self, make_service: MakeService) -> None:
        service = await make_service(COUNTED)
        before = await values(service)

        await service.get("/get-session")
        await service.client.head("/ok")

        assert await grown(service, before, "gatewright_requests_total", "sessions.get_current", "401") == 1
        assert await grown(service, before, "gatewright_requests_total", "service.check_health", "200") == 1
        assert await grown(service, before, "gatewright_refusals_total", "UNAUTHORIZED") == 1

    async def test_no_label_holds_what_was_sent(self, make_service: MakeService) -> None:
        service = await make_service(COUNTED)

        for path in ("/no-such-path", "/callback/no-such-path", "/reset-password/no-such-path"):
            await service.get(path)
        await service.post(
            "/sign-in/email", {"email": "no-such-path@example.com", "password": "no-such-path"}
        )
        await service.client.request("PURGE", "/get-session")

        found = await values(service)
        assert found["gatewright_requests_total", "none", "404"] >= 1
        assert found["gatewright_requests_total", "none", "405"] >= 1
        assert [key for key in found if "path" in "".join(key) or "PURGE" in key] == []

    async def test_counts_audit_events(self, make_service: MakeService) -> None:
        service = await make_service(COUNTED)
        before = await values(service)

        await service.post("/sign-up/email", NEW)
        await service.post("/sign-in/email", {"email": ADA, "password": "not the password"})
        await service.post("/sign-out", headers={"Origin": "https://evil.example"})

        events = "gatewright_audit_events_total"
        assert await grown(service, before, events, "user.created", "success") == 1
        assert await grown(service, before, events, "sign_in.failed", "failure") == 1
        assert await grown(service, before, events, "origin.refused", "refused") == 1

    async def test_counts_what_the_limits_refuse(self, make_service: MakeService) -> None:
        service = await make_service({**COUNTED, "limits.requests": "2", "limits.failures": "1"})
        before = await values(service)
        await service.post("/sign-up/email", NEW)
        wrong = {"email": ADA, "password": "not the password"}

        for _ in range(2):
            await service.post("/sign-in/email", wrong)
        for _ in range(3):
            await service.get("/get-session")

        assert await grown(service, before, "gatewright_limit_refusals_total", "failures") == 1
        assert await grown(service, before, "gatewright_limit_refusals_total", "requests") == 1

    async def test_tells_what_waits_in_the_outbox_and_what_became_of_it(
        self, make_service: MakeService
    ) -> None:
        service = await make_service(COUNTED)
        before = await values(service)
        await service.post("/sign-up/email", NEW)
        service.clock.advance(seconds=7)

        waiting = await values(service)
        await service.inbox()

        after = await values(service)
        assert waiting["gatewright_outbox_waiting", "queued"] == 1
        assert waiting["gatewright_outbox_oldest_seconds",] == 7
        assert after["gatewright_outbox_waiting", "queued"] == 0
        assert after["gatewright_outbox_oldest_seconds",] == 0
        assert await grown(service, before, "gatewright_outbox_mails_total", "verify-email", "sent") == 1

    async def test_tells_of_mails_that_fail(self, make_service: MakeService) -> None:
        service = await make_service({**COUNTED, "mail.file_path": "/dev/null/mail", "mail.retry_for": "60s"})
        before = await values(service)
        await service.post("/sign-up/email", NEW)

        for _ in range(2):
            await service.services.worker.drain()
            service.clock.advance(seconds=31)

        mails = "gatewright_outbox_mails_total"
        assert await grown(service, before, mails, "verify-email", "postponed") == 1
        assert await grown(service, before, mails, "verify-email", "failed") == 1

    async def test_counts_verifications_of_api_keys(self, make_service: MakeService, sign_up: SignIn) -> None:
        service = await make_service({**COUNTED, "api_keys.sessions": "true"})
        key = (await service.post("/api-key/create", {}, headers=await sign_up(on=service))).json()["key"]
        verifier = {"Authorization": f"Bearer {VERIFIER}"}
        before = await values(service)

        for text_ in (key, key, "x"):
            await service.post("/api-key/verify", {"key": text_}, headers=verifier)
        await service.get("/get-session", headers={"x-api-key": key})
        await service.post("/api-key/verify", {"key": key, "configId": "unknown"}, headers=verifier)

        verifications = "gatewright_api_key_verifications_total"
        assert await grown(service, before, verifications, "tests", "valid") == 2
        assert await grown(service, before, verifications, "tests", "INVALID_API_KEY") == 1
        assert await grown(service, before, verifications, "none", "valid") == 1

    async def test_tells_of_the_pools(self, make_service: MakeService) -> None:
        service = await make_service(COUNTED)
        async with service.services.database.begin() as db:
            await db.execute(text("SELECT 1"))
            busy = await values(service)

        idle = await values(service)
        size = 1 if service.services.database.dialect == "sqlite" else 7
        assert busy["gatewright_database_pool_size",] == size
        assert busy["gatewright_database_pool_in_use",] == idle["gatewright_database_pool_in_use",] + 1
        assert idle["gatewright_hash_pool_size",] >= 1
        assert idle["gatewright_hash_pool_busy",] == 0

    async def test_counts_who_waits_for_a_connection_in_vain(self, make_service: MakeService) -> None:
        service = await make_service({**COUNTED, "database.timeout": "2s", "database.pool_size": "4"})
        begin = service.services.database.begin
        before = await values(service)

        async with begin() as holding:
            await holding.execute(text("SELECT 1"))
            asked = asyncio.create_task(service.post("/sign-up/email", NEW))
            waiting = await _until(service, "gatewright_database_pool_waiting")
            answer = await asked

        assert waiting == 1
        assert answer.status_code == 503
        assert await grown(service, before, "gatewright_database_pool_timeouts_total") >= 1

    async def test_tells_that_the_database_is_away(self, cluster: Cluster, tmp_path: Path) -> None:
        url = cluster.create(migrated=True)
        service = await open_service(url, tmp_path, COUNTED)
        connection = await asyncpg.connect(cluster.url())

        await connection.execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')

        found = await values(service)
        assert found["gatewright_database_up",] == 0
        assert found["gatewright_workers",] == 1
        await connection.close()
        await close_service(service)


async def _until(service: Service, name: str) -> float:
    """Return a value as soon as it is not 0; the event loop ends the wait for a connection soon enough."""
    async with asyncio.timeout(60):
        while not (found := (await values(service))[name,]):  # noqa: ASYNC110 - a value tells nobody that it changed
            await asyncio.sleep(0.01)
    return found


async def test_requests_to_providers_are_counted_by_result(
    make_cold_service: MakeService, provider: ProviderProcess
) -> None:
    service = await make_cold_service(
        {
            **COUNTED,
            **social_settings(provider),
            "providers.test.client_id": "service",
            "providers.away.client_id": "x",
            "providers.away.client_secret": "x",
            "providers.away.discovery_url": "http://127.0.0.1:9/.well-known/openid-configuration",
        }
    )

    for name in ("test", "away"):
        await service.post("/sign-in/social", {"provider": name, "callbackURL": "/"})

    found = await values(service)
    assert found["gatewright_provider_calls_total", "test", "answered"] == 1
    assert found["gatewright_provider_calls_total", "away", "unavailable"] == 1


class TestHashPool:
    async def test_tells_how_much_it_has_to_do(self) -> None:
        pool = PasswordHasher(HashingRules(memory_kib=32 * 1024, time=4, workers=1, queue=1))
        first = asyncio.create_task(pool.hash("correct horse"))
        second = asyncio.create_task(pool.hash("correct horse"))
        await asyncio.sleep(0)

        with pytest.raises(Overloaded):
            await pool.hash("correct horse")
        crowded = pool.state()

        await asyncio.gather(first, second)
        await asyncio.sleep(0)
        assert crowded == (1, 1, 1, 1)
        assert pool.state() == (1, 0, 0, 1)
        pool.close()
