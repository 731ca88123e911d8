"""States of the pages of webhooks."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from tests.labs.e2e.console_states import DAY, ODD
from tests.labs.e2e.page_walk import Site, Visitor
from tests.ports import free_port
from tests.service import PASSWORD

ENDPOINTS = {
    "crm": "state = 'active'",
    "analytics": "failures = 7",
    "billing": "state = 'disabled'",
    "support": "state = 'paused'",
    "warehouse": "source = 'config'",
}
"""Endpoints of webhooks by name, with what is special about each; the first has deliveries."""
DELIVERIES = (
    "state = 'delivered', attempts = 1, last_status = 204, last_error = NULL",
    "state = 'failed', attempts = 9, last_status = 503, last_error = 'status'",
    "state = 'failed', attempts = 9, last_status = NULL, last_error = 'tls'",
    "state = 'pending', attempts = 2, last_status = NULL, last_error = 'connect'",
)
"""What became of deliveries."""


def add(site: Site, root: str) -> None:
    """Add endpoints in every state, with deliveries in every state to the first of them."""
    token = site.post("/sign-in/email", {"email": root, "password": PASSWORD}).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    ids = []
    for name in ENDPOINTS:
        created = site.post(
            "/webhooks/create-endpoint",
            {
                "name": name,
                "url": f"http://127.0.0.1:{free_port()}/hooks",
                "events": ["user.*", "session.created", "password.changed", "organization.*"],
                "description": "Keeps contacts up to date",
            },
            **bearer,
        )
        ids.append(created.json()["endpoint"]["id"])
    for _ in DELIVERIES:
        site.post("/webhooks/send-test", {"id": ids[0]}, **bearer)
    now = time.time_ns() // 1_000_000
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        for number, (name, columns) in enumerate(ENDPOINTS.items()):
            database.execute(
                "UPDATE webhook_endpoint SET url = ?, failures = 0, failing_since = NULL, next_probe = NULL,"
                f" last_success_at = ?, {columns} WHERE name = ?",
                (f"https://{name}.example.com/hooks/users", now - number * DAY // 3, name),
            )
        database.execute(
            "UPDATE webhook_endpoint SET failing_since = ?, next_probe = ? WHERE failures", (now, now + DAY)
        )
        sent = database.execute("SELECT id FROM delivery WHERE endpoint_id = ?", ids[:1])
        for (delivery,), columns in zip(sent.fetchall(), DELIVERIES, strict=True):
            database.execute(
                f"UPDATE delivery SET lease_until = NULL, next_attempt = ?, ended_at = ?, {columns} WHERE id = ?",
                (now + DAY // 12, None if "pending" in columns else now, delivery),
            )
    database.close()


async def states(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the states of the list, an endpoint, and their forms."""
    await visitor.open("/console/webhooks?search=no-such-name&state=paused")
    yield "console-webhooks-nothing-found"
    for name in ENDPOINTS:
        await visitor.open(f"/console/webhooks?search={name}")
        await visitor.page.locator(".row-link").first.click()
        await visitor.page.wait_for_load_state()
        yield f"console-webhooks-id-{name}"
    await visitor.open("/console/webhooks")
    await visitor.page.locator(".row-link").first.click()
    await visitor.page.wait_for_load_state()
    crm = urlsplit(visitor.page.url).path
    await visitor.open(f"{crm}?state=cancelled")
    yield "console-webhooks-id-nothing-found"
    await visitor.open(f"{crm}/delete")
    await visitor.send(f"{crm}/delete", typedName="another")
    yield "console-webhooks-id-delete-refused"
    await visitor.open(f"{crm}/rotate-secret")
    await visitor.send(f"{crm}/rotate-secret")
    yield "console-webhooks-secret"
    await visitor.open("/console/webhooks/new")
    await visitor.send("/console/webhooks/new", name="CRM", url="https://10.0.0.1/hooks")
    yield "console-webhooks-new-refused"


async def odd_states(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the list and an endpoint with odd texts."""
    await asyncio.to_thread(_change, visitor.site)
    await visitor.open("/console/webhooks")
    yield "console-webhooks-odd"
    await visitor.page.locator(".row-link").first.click()
    await visitor.page.wait_for_load_state()
    yield "console-webhooks-id-odd"


def _change(site: Site) -> None:
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        database.execute(
            "UPDATE webhook_endpoint SET name = ?, description = ?, url = ? WHERE name = 'analytics'",
            (ODD[0][:64], ODD[4], f"https://{'long.' * 40}example.com/{ODD[0][:1000]}"),
        )
    database.close()
