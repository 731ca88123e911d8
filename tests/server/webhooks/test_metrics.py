"""Figures about webhooks."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from server.components.webhooks import Webhooks
from server.webhooks.sampler import Sampler
from tests.conftest import MakeService
from tests.receiver import Receiver, respond
from tests.server.observability.test_metrics import COUNTED, Values, samples
from tests.service import START, Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, happen

pytestmark = pytest.mark.both_databases

FAILING: dict[str, Any] = {"failures": 3, "failing_since": START, "next_probe": START + timedelta(hours=1)}


async def values(service: Service) -> Values:
    """Return all values by `(name, *labels)`, after taking a sample."""
    metrics = service.services.metrics
    assert metrics is not None
    await Sampler(metrics, service.services.database.reads, service.clock).sample()
    return samples(metrics)


def figures(found: Values) -> tuple[float, ...]:
    """Return pending deliveries, the age of the oldest, and for how long one has been due."""
    return tuple(
        found[f"gatewright_webhook_{name}",] for name in ("pending", "oldest_seconds", "overdue_seconds")
    )


async def test_tells_what_waits_and_what_became_of_it(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, **COUNTED})
    results = "gatewright_webhook_attempts_total"
    before = await values(service)
    async with Receiver() as receiver:
        receiver.script += [respond(500)]
        await add_endpoint(service, receiver.url())
        await happen(service)
        service.clock.advance(seconds=7)
        assert figures(await values(service)) == (1, 7, 7)

        await attempt(service)
        assert figures(await values(service)) == (1, 7, 0)

        service.clock.advance(seconds=7)
        await attempt(service)
        after = await values(service)
    assert figures(after) == (0, 0, 0)
    grown = {
        result: after[results, result] - before.get((results, result), 0)
        for result in ("postponed", "delivered")
    }
    assert grown == {"postponed": 1, "delivered": 1}


async def test_an_endpoint_that_fails_is_not_overdue(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, **COUNTED})
    await add_endpoint(service, "http://127.0.0.1:9/", **FAILING)
    await happen(service)
    service.clock.advance(minutes=30)

    assert figures(await values(service)) == (1, 1800, 0)


async def test_what_waits_for_a_paused_endpoint_does_not_count(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, **COUNTED})
    await add_endpoint(service, "http://127.0.0.1:9/")
    await happen(service)
    async with service.services.database.begin() as db:
        await db.execute(text("UPDATE webhook_endpoint SET state = 'paused'"))
        await db.commit()

    assert figures(await values(service)) == (0, 0, 0)


async def test_tells_the_states_of_endpoints(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, **COUNTED})
    for columns in ({}, {}, FAILING, {"state": "paused"}, {**FAILING, "state": "disabled"}):
        await add_endpoint(service, "http://127.0.0.1:9/", **columns)

    found = await values(service)

    states = {
        state: found["gatewright_webhook_endpoints", state]
        for state in ("active", "failing", "paused", "disabled")
    }
    assert states == {"active": 2, "failing": 1, "paused": 1, "disabled": 1}


async def test_without_webhooks_nothing_is_queried(make_service: MakeService) -> None:
    on, off = [
        await make_service({**settings, **COUNTED}) for settings in (SETTINGS, {"webhooks.enabled": "false"})
    ]

    jobs = [[job.name for job in _component(service).jobs()] for service in (on, off)]
    assert jobs == [["webhook_payloads", "webhook_metrics"], []]
    metrics = off.services.metrics
    assert metrics is not None
    assert not [name for name, *_ in samples(metrics) if name == "gatewright_webhook_endpoints"]


def _component(service: Service) -> Webhooks:
    [component] = [one for one in service.services.components if isinstance(one, Webhooks)]
    return component
