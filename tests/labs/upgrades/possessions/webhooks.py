"""Endpoints of webhooks."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlmodel import col
from standardwebhooks import Webhook

from models.delivery import Delivery
from tests.labs.faults.asking import until
from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site
from tests.receiver import Received, respond


@possession(since="0021")
async def endpoint(site: Site) -> Story:
    """An endpoint gets what waits for it and what happens next, signed with its secret."""
    root, path = await site.administrator(), f"/{site.email('hook')}"
    new = {"name": "crm", "url": site.receiver.url(path), "events": ["webhook.*"]}
    created = await site.post("/webhooks/create-endpoint", root, **new)
    named = {"id": created["endpoint"]["id"]}
    site.receiver.script.append(respond(503))
    await site.post("/webhooks/send-test", root, **named)
    await _received(site, path, 1)
    await until(lambda: _is_postponed(site, named["id"]))
    await _set_next_attempt(site, named["id"], datetime.now(UTC) + timedelta(hours=1))
    site = yield
    # Another event has the process look for what is due.
    await _set_next_attempt(site, named["id"], datetime.now(UTC))
    await site.post("/webhooks/send-test", root, **named)
    first, *later = await _received(site, path, 3)
    for request in (first, *later):
        Webhook(created["secret"]).verify(request.body, dict(request.headers))
    assert first.headers["webhook-id"] in {request.headers["webhook-id"] for request in later}


async def _is_postponed(site: Site, endpoint_id: str) -> bool:
    """Return whether an attempt at an endpoint has failed, and the next one has its time."""
    deliveries = select(col(Delivery.attempts), col(Delivery.lease_until))
    rows = await site.place.rows(deliveries.where(col(Delivery.endpoint_id) == endpoint_id))
    return [(row.attempts, row.lease_until) for row in rows] == [(1, None)]


async def _set_next_attempt(site: Site, endpoint_id: str, when: datetime) -> None:
    attempts = update(Delivery).values(next_attempt=when)
    await site.place.rows(attempts.where(col(Delivery.endpoint_id) == endpoint_id))


async def _received(site: Site, path: str, number: int) -> list[Received]:
    """Return the requests to a path, once there are so many."""

    def found() -> list[Received]:
        return [request for request in site.receiver.requests if request.target == path]

    async def are_there() -> bool:
        return len(found()) >= number

    await until(are_there)
    return found()
