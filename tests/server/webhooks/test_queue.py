"""Deliveries: what receivers get, when, and how often."""

import json

import pytest
from standardwebhooks import Webhook

from domain.context import Context
from domain.errors import NotFound
from domain.webhooks import secrets
from domain.webhooks.events import TEST
from domain.webhooks.publication import publish
from tests.conftest import MakeService
from tests.receiver import Receiver, respond
from tests.service import Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, deliveries, endpoint, happen

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service that sends events."""
    return await make_service(SETTINGS)


async def test_an_event_arrives_signed(service: Service) -> None:
    secret = secrets.create()
    async with Receiver() as receiver:
        await add_endpoint(service, receiver.url(), secret=secret)
        await happen(service)

        await attempt(service)

    [request] = receiver.requests
    event = json.loads(request.body)
    assert (event["type"], event["timestamp"]) == ("webhook.test", "2026-01-01T12:00:00.000Z")
    assert request.headers["content-type"] == "application/json"
    [delivery] = await deliveries(service)
    assert (delivery.state, delivery.last_status, delivery.attempts) == ("delivered", 204, 1)
    expected = Webhook(secret).sign(request.headers["webhook-id"], service.clock.now, request.body.decode())
    assert request.headers["webhook-signature"] == expected
    assert (await endpoint(service)).last_success_at is not None


async def test_a_failed_attempt_is_repeated_later(service: Service) -> None:
    async with Receiver() as receiver:
        receiver.script += [respond(500), respond(500)]
        await add_endpoint(service, receiver.url())
        await happen(service)

        await attempt(service)
        assert len(receiver.requests) == 1
        service.clock.advance(seconds=7)
        await attempt(service)
        service.clock.advance(minutes=7)
        await attempt(service)

    ids = {request.headers["webhook-id"] for request in receiver.requests}
    assert (len(receiver.requests), len(ids)) == (3, 1)
    [delivery] = await deliveries(service)
    assert (delivery.state, delivery.attempts) == ("delivered", 3)


@pytest.mark.threat("WH11")
async def test_an_event_is_written_only_with_what_it_is_about(service: Service) -> None:
    async def refused(ctx: Context) -> None:
        publish(ctx, TEST, number=1)
        raise NotFound

    async with Receiver() as receiver:
        await add_endpoint(service, receiver.url())
        with pytest.raises(NotFound):
            await service.services.unit_of_work.run(refused)
        await attempt(service)

    assert (await deliveries(service), receiver.requests) == ([], [])
