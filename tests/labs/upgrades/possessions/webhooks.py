"""Endpoints of webhooks."""

from datetime import UTC, datetime

from sqlalchemy import update
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
    site = yield
    # The next attempt would be some seconds later; another event has the process look for what is due.
    due = update(Delivery).values(next_attempt=datetime.now(UTC))
    await site.place.rows(due.where(col(Delivery.endpoint_id) == named["id"]))
    await site.post("/webhooks/send-test", root, **named)
    first, *later = await _received(site, path, 3)
    for request in (first, *later):
        Webhook(created["secret"]).verify(request.body, dict(request.headers))
    assert first.headers["webhook-id"] in {request.headers["webhook-id"] for request in later}


async def _received(site: Site, path: str, number: int) -> list[Received]:
    """Return the requests to a path, once there are so many."""

    def found() -> list[Received]:
        return [request for request in site.receiver.requests if request.target == path]

    async def are_there() -> bool:
        return len(found()) >= number

    await until(are_there)
    return found()
