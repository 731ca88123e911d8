"""Webhook endpoints from the configuration: when the service starts, the table is changed to match it."""

import hashlib
import json
from typing import Any

from domain.admin_webhooks import operator
from domain.context import Context
from domain.webhooks.policy import WebhookPolicy
from domain.webhooks.secrets import ConfiguredEndpoint
from models.webhook_endpoint import LOCK_ENDPOINT, SECRET, EndpointRow, EndpointSource, EndpointState


def endpoint_id(name: str) -> str:
    """Return the id of a configured endpoint, which is the same on every instance."""
    return hashlib.sha256(f"webhooks.endpoints.{name}".encode()).hexdigest()[:32]


async def apply(ctx: Context) -> None:
    """Add, change and delete the rows of configured endpoints, so that they are as configured, and active.

    After a secret was replaced, the old one also signs for `webhooks.secret_overlap`. Pending deliveries of endpoints
    that are no longer configured are canceled.
    """
    if await _is_applied(ctx):  # Otherwise a start would need a database that can be written.
        return
    await operator.lock_table(ctx)
    configured = ctx.policy[WebhookPolicy].configured
    known = await _known(ctx)
    for name, one in configured.items():
        row = known.pop(endpoint_id(name), None)
        if row is None:
            operator.add(ctx, endpoint_id(name), EndpointSource.CONFIG, one.secret, _columns(name, one))
        else:
            await _change(ctx, row, name, one)
    for row in known.values():
        await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=row.id)
        await operator.delete_row(ctx, row)


async def _change(ctx: Context, known: EndpointRow, name: str, one: ConfiguredEndpoint) -> None:
    [row] = await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=known.id)
    if not _has_secret(ctx, row, one):
        row = await operator.replace_secret(ctx, row, one.secret)
    await operator.change(ctx, row, _changes(row, name, one))


async def _is_applied(ctx: Context) -> bool:
    configured = ctx.policy[WebhookPolicy].configured
    known = await _known(ctx)
    return known.keys() == {endpoint_id(name) for name in configured} and all(
        _has_secret(ctx, row, one) and not _changes(row, name, one)
        for name, one in configured.items()
        for row in (known[endpoint_id(name)],)
    )


async def _known(ctx: Context) -> dict[str, EndpointRow]:
    rows = await operator.list_endpoints(ctx)
    return {row.id: row for row in rows if row.source == EndpointSource.CONFIG}


def _has_secret(ctx: Context, row: EndpointRow, one: ConfiguredEndpoint) -> bool:
    return ctx.cipher.decrypt(SECRET, row.secret) == one.secret


def _changes(row: EndpointRow, name: str, one: ConfiguredEndpoint) -> dict[str, Any]:
    """Return the columns that are not as configured; a disabled endpoint is to be active again."""
    wanted = {**_columns(name, one), "state": EndpointState.ACTIVE.value}
    return {column: value for column, value in wanted.items() if value != getattr(row, column)}


def _columns(name: str, one: ConfiguredEndpoint) -> dict[str, Any]:
    events = json.dumps(list(dict.fromkeys(one.events)))
    return {"name": name, "url": one.url, "events": events, "description": one.description}
