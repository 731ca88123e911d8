"""Rows that cannot be read or used: they must not stop requests, or the deliveries of others."""

import json

import pytest
from sqlalchemy import text

from models.webhook_event import PAYLOAD
from server.crypto.keyring import Keyring
from tests.conftest import MakeService
from tests.receiver import Receiver
from tests.service import Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, deliveries, happen, later

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service that sends events."""
    return await make_service(SETTINGS)


async def execute(service: Service, statement: str, **values: object) -> None:
    """Change rows behind the back of the service."""
    async with service.services.database.transaction() as db:
        await db.execute(text(statement), **values)


@pytest.mark.parametrize("damaged", ["", "{", "null", '{"a": 1}', '[["*"]]', "[1]"])
async def test_subscriptions_that_cannot_be_read_are_none(service: Service, damaged: str) -> None:
    async with Receiver() as receiver, Receiver() as other:
        first = await add_endpoint(service, receiver.url())
        await add_endpoint(service, other.url(), name="other")
        await execute(
            service, "UPDATE webhook_endpoint SET events = :events WHERE id = :id", events=damaged, id=first
        )
        response = await service.client.post(
            "/sign-up/email",
            json={"name": "Ada", "email": "ada@example.com", "password": "seven red bicycles"},
        )
        await attempt(service)

    assert response.status_code == 200
    assert receiver.requests == []
    assert "user.created" in [json.loads(request.body)["type"] for request in other.requests]


async def test_damaged_rows_do_not_stop_others(service: Service) -> None:
    async with Receiver() as receiver, Receiver() as other:
        await add_endpoint(service, receiver.url())
        await happen(service, 4)
        first, second, third, _ = await deliveries(service)
        lost = Keyring(["x" * 48])
        await execute(
            service,
            "UPDATE webhook_event SET payload = :p WHERE id = :id",
            p=lost.encrypt(PAYLOAD, "{}"),
            id=first.event_id,
        )
        await execute(
            service, "UPDATE webhook_event SET payload = :p WHERE id = :id", p=b"\xff", id=second.event_id
        )
        await execute(service, "UPDATE delivery SET state = 'sleeping' WHERE id = :id", id=third.id)
        await add_endpoint(service, "https://10.0.0.1/", name="forbidden")
        await add_endpoint(service, "gopher:\n//", name="malformed")
        await add_endpoint(service, other.url(), name="empty secret", secret="whsec_")
        await add_endpoint(service, other.url(), name="no secret", secret="whsec_A")
        await happen(service)
        for _ in range(5):
            await attempt(service)
            later(service, seconds=61)

    assert len(receiver.requests) == 2
    assert other.requests == []
    rows = await service.rows(
        "SELECT e.name, d.state, d.last_error FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id"
    )
    states = {row.name: (row.state, row.last_error) for row in rows}
    assert states["forbidden"] == states["malformed"] == ("pending", "refused_address")
    assert states["no secret"] == states["empty secret"] == ("failed", "disabled")
