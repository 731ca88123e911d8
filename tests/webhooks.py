"""Endpoints, events and deliveries of webhooks, as tests make and read them."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from domain import tokens
from domain.admin_webhooks import operator
from domain.context import Context
from domain.webhooks import secrets
from domain.webhooks.events import TEST
from domain.webhooks.publication import publish
from models.webhook_endpoint import SECRET, EndpointState, WebhookEndpoint
from tests import rows
from tests.service import START, Service

SETTINGS = {"webhooks.enabled": "true", "webhooks.allowed_ports": "[443]"}
"""A service that sends events; in development, endpoints may be on this machine."""


async def add_endpoint(
    service: Service, url: str, *, events: Sequence[str] = ("*",), secret: str | None = None, **columns: Any
) -> str:
    """Store an endpoint; return its id."""
    sealed = service.services.cipher.encrypt(SECRET, secret or secrets.create())
    endpoint = WebhookEndpoint(
        id=tokens.token(),
        **{
            "name": "receiver",
            "url": url,
            "events": json.dumps(list(events)),
            "secret": sealed,
            "source": "cli",
            "state": EndpointState.ACTIVE,
            "failures": 0,
            "created_at": START,
            "updated_at": START,
            **columns,
        },
    )
    await rows.add(service.services.database, endpoint)
    return endpoint.id


async def happen(service: Service, number: int = 1, **data: Any) -> None:
    """Publish events that need nothing else."""

    async def job(ctx: Context) -> None:
        for index in range(number):
            publish(ctx, TEST, number=index, **data)

    await service.services.unit_of_work.run(job)


async def attempt(service: Service) -> None:
    """Attempt what is due."""
    await service.services.worker.drain()


async def deliveries(service: Service) -> list[Any]:
    """Return all deliveries, the oldest first."""
    return await service.rows("SELECT * FROM delivery ORDER BY created_at, id")


async def endpoint(service: Service) -> Any:
    """Return the only endpoint."""
    [row] = await service.rows("SELECT * FROM webhook_endpoint")
    return row


async def rotate(service: Service, endpoint_id: str, secret: str) -> None:
    """Replace the secret of an endpoint, as an operator does."""
    await service.services.unit_of_work.run(lambda ctx: operator.rotate_secret(ctx, endpoint_id, secret))


def later(service: Service, **time: float) -> None:
    """Advance the clock of a service."""
    service.clock.now += timedelta(**time)
