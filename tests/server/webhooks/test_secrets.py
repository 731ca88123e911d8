"""The secrets of endpoints when those of the service change."""

import pytest
from sqlalchemy import update
from standardwebhooks import Webhook

from domain.webhooks import secrets
from models.webhook_endpoint import PREVIOUS_SECRET, SECRET, WebhookEndpoint
from models.webhook_event import PAYLOAD, WebhookEvent
from server.components.key_rotation import reencrypt
from server.crypto.keyring import Keyring
from tests.conftest import MakeService
from tests.receiver import Receiver
from tests.service import START, Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, deliveries, endpoint, happen, later

pytestmark = pytest.mark.both_databases

NEW, OLD = "n" * 48, "o" * 48
BOTH = {**SETTINGS, "secrets": f'["{NEW}", "{OLD}"]'}
LOST = Keyring(["x" * 48])


async def store(service: Service, **sealed: bytes) -> None:
    """Store encrypted values in the only endpoint."""
    async with service.services.database.transaction() as db:
        await db.execute(update(WebhookEndpoint).values(**sealed))


@pytest.mark.threat("R44")
async def test_events_are_signed_with_the_same_secrets_before_and_after_a_rotation(
    make_service: MakeService,
) -> None:
    service = await make_service(BOTH)
    newest, previous = secrets.create(), secrets.create()
    async with Receiver() as receiver:
        await add_endpoint(service, receiver.url(), previous_until=START.replace(hour=20))
        old = Keyring([OLD])
        await store(
            service,
            secret=old.encrypt(SECRET, newest),
            previous_secret=old.encrypt(PREVIOUS_SECRET, previous),
        )
        await happen(service)
        await attempt(service)
        await happen(service)
        left = await reencrypt(service.services.database.transaction, service.services.cipher)
        await attempt(service)

    names = ("webhook_endpoint.secret", "webhook_endpoint.previous_secret", "webhook_event.payload")
    assert {left[name] for name in names} == {0}
    row = await endpoint(service)
    new = Keyring([NEW])
    assert new.decrypt(SECRET, row.secret) == newest
    assert new.decrypt(PREVIOUS_SECRET, row.previous_secret) == previous
    assert len(receiver.requests) == 2
    for request in receiver.requests:
        arguments = request.headers["webhook-id"], service.clock.now, request.body.decode()
        expected = [Webhook(secret).sign(*arguments) for secret in (newest, previous)]
        assert request.headers["webhook-signature"].split() == expected


async def test_an_endpoint_whose_secret_is_lost_is_disabled_and_gets_nothing_unsigned(
    make_service: MakeService,
) -> None:
    service = await make_service(SETTINGS)
    async with Receiver() as receiver, Receiver() as other:
        await add_endpoint(service, receiver.url())
        await store(service, secret=LOST.encrypt(SECRET, secrets.create()))
        await add_endpoint(service, other.url(), name="other")
        await happen(service, 2)
        await attempt(service)
        later(service, days=1)
        await happen(service)
        await attempt(service)

    assert (receiver.requests, len(other.requests)) == ([], 3)
    states = await service.rows("SELECT name, state FROM webhook_endpoint ORDER BY name")
    assert [tuple(row) for row in states] == [("other", "active"), ("receiver", "disabled")]
    assert sorted(row.state for row in await deliveries(service)) == ["delivered"] * 3 + ["failed"] * 2
    [record] = await service.rows("SELECT * FROM audit WHERE event = 'webhook.endpoint_disabled'")
    assert "secret" in str(record.details)


async def test_a_former_secret_that_is_lost_does_not_sign(make_service: MakeService) -> None:
    service = await make_service(SETTINGS)
    secret = secrets.create()
    async with Receiver() as receiver:
        lost = LOST.encrypt(PREVIOUS_SECRET, secrets.create())
        until = START.replace(hour=20)
        await add_endpoint(service, receiver.url(), secret=secret, previous_secret=lost, previous_until=until)
        await happen(service)
        await attempt(service)

    [request] = receiver.requests
    expected = Webhook(secret).sign(request.headers["webhook-id"], service.clock.now, request.body.decode())
    assert request.headers["webhook-signature"] == expected


async def test_an_event_that_cannot_be_decrypted_is_not_sent(make_service: MakeService) -> None:
    service = await make_service(SETTINGS)
    async with Receiver() as receiver:
        await add_endpoint(service, receiver.url())
        await happen(service)
        async with service.services.database.transaction() as db:
            await db.execute(update(WebhookEvent).values(payload=LOST.encrypt(PAYLOAD, "{}")))
        await attempt(service)

    assert receiver.requests == []
    assert [row.state for row in await deliveries(service)] == ["cancelled"]
