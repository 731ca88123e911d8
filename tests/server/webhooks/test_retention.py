"""How long the content of events is kept."""

import pytest

from domain.webhooks import retention
from models.webhook_endpoint import CHANGE_ENDPOINT, REMOVE_ENDPOINT
from tests.conftest import MakeService
from tests.receiver import Receiver
from tests.service import Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, deliveries, happen, later

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service that sends events."""
    return await make_service(SETTINGS)


async def erase(service: Service) -> list[bool]:
    """Do what is done once an hour; return of each event whether its content is kept."""
    await service.services.unit_of_work.run(retention.expire_waiting)
    await service.services.unit_of_work.run(retention.erase_payloads)
    rows = await service.rows("SELECT payload FROM webhook_event ORDER BY created_at, id")
    return [row.payload is not None for row in rows]


async def test_the_content_of_a_delivered_event_is_erased_after_the_retention(service: Service) -> None:
    async with Receiver() as receiver:
        await add_endpoint(service, receiver.url())
        await happen(service)
        await attempt(service)

    later(service, days=3, seconds=-1)
    assert await erase(service) == [True]
    later(service, seconds=1)
    assert await erase(service) == [False]


@pytest.mark.parametrize("end", ["paused", "disabled", "deleted"])
async def test_a_delivery_that_no_attempt_is_made_of_expires(service: Service, end: str) -> None:
    """An endpoint may be deleted or disabled while a transaction that has read it adds a delivery."""
    endpoint_id = await add_endpoint(service, "http://127.0.0.1:9/")
    await happen(service)
    async with service.services.database.transaction() as db:
        if end == "deleted":
            await db.execute(REMOVE_ENDPOINT, endpoint_id=endpoint_id)
        else:
            await db.execute(
                CHANGE_ENDPOINT, endpoint_id=endpoint_id, state=end, updated_at=service.clock.now
            )

    later(service, days=7, seconds=-1)
    assert await erase(service) == [True]
    later(service, seconds=1)
    assert await erase(service) == [True]
    [delivery] = await deliveries(service)
    assert (delivery.state, delivery.last_error) == ("failed", "expired")
    assert await service.rows("SELECT id FROM audit WHERE event = 'webhook.delivery_failed'")
    later(service, days=3)
    assert await erase(service) == [False]
