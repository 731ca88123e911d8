"""Manage webhook endpoints: for the operator, and for administrators of the service.

No permission is checked. `ctx.caller` is the administrator; None if the operator acts on the command line.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from domain import tokens
from domain.admin_webhooks import fields
from domain.admin_webhooks.errors import (
    EndpointNotFound,
    EndpointReadOnly,
    StaleEndpoint,
    TooManyEndpoints,
)
from domain.context import Context
from domain.webhooks import deliveries, events
from domain.webhooks.deliveries import END_PENDING
from domain.webhooks.policy import WebhookPolicy
from models.delivery import (
    DeliveryState,
)
from models.lease import Lease
from models.statements import upsert
from models.webhook_endpoint import (
    ADD_ENDPOINT,
    CHANGE_ENDPOINT,
    COUNT_ENDPOINTS,
    LIST_ENDPOINTS,
    LOCK_ENDPOINT,
    PREVIOUS_SECRET,
    REMOVE_ENDPOINT,
    SECRET,
    EndpointRow,
    EndpointSource,
    EndpointState,
)

_ENDPOINTS = "webhook_endpoints"
"""The lease whose row is locked before endpoints are added."""

_WORKING = {"failures": 0, "failing_since": None, "next_probe": None}
"""The columns of an endpoint that does not fail."""


async def lock_table(ctx: Context) -> None:
    """Serialize additions of endpoints until the transaction ends."""
    statement = upsert(ctx.db.dialect, Lease).values(name=_ENDPOINTS, holder=_ENDPOINTS, until=ctx.now)
    await ctx.db.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"until": statement.excluded.until})
    )


async def list_endpoints(ctx: Context) -> Sequence[EndpointRow]:
    """Return all endpoints, the oldest first."""
    return await ctx.db.execute(LIST_ENDPOINTS)


def version(row: EndpointRow) -> str:
    """Return a text that differs after every change of an endpoint by an administrator.

    Forms contain it to detect concurrent changes.
    """
    seen = [row.id, row.name, row.url, row.description, row.events, row.state, row.secret.hex()]
    return tokens.digest(json.dumps(seen)).hex()


def state_of(rows: Sequence[EndpointRow]) -> str:
    """Return a text that differs after an endpoint was added or deleted; forms contain it to detect such changes."""
    return tokens.digest(" ".join(row.id for row in rows)).hex()


async def find(ctx: Context, endpoint: str) -> EndpointRow:
    """Return the endpoint with this id, or with this name if no other one has it. Raises EndpointNotFound."""
    rows = await list_endpoints(ctx)
    found = [row for row in rows if row.id == endpoint] or [row for row in rows if row.name == endpoint]
    if len(found) != 1:
        raise EndpointNotFound(None if not found else "Several endpoints have this name; use the identifier")
    return found[0]


async def create(
    ctx: Context,
    sent: Mapping[str, Any],
    secret: str | None,
    source: EndpointSource,
    *,
    seen: str | None = None,
) -> tuple[EndpointRow, str]:
    """Create an endpoint with the fields `sent`; return the endpoint and its secret, a new one if `secret` is None.

    `seen` is the `state_of` the list that a form was shown with, None without a form: a form that is sent twice creates
    one endpoint, and the second call raises StaleEndpoint.

    Raises ValidationError, UnknownEvent, InvalidWebhookUrl, StaleEndpoint, TooManyEndpoints.
    """
    values, text = fields.columns(sent), fields.secret(secret)
    await fields.check_url(ctx, values["url"])
    await lock_table(ctx)  # defence: WH22 lock
    if seen is not None and seen != state_of(await list_endpoints(ctx)):  # defence: C8 seen-endpoints
        raise StaleEndpoint
    number: int = (await ctx.db.execute(COUNT_ENDPOINTS)).scalar()
    if number >= ctx.policy[WebhookPolicy].max_endpoints:  # defence: WH22 number-of-endpoints
        raise TooManyEndpoints
    return add(ctx, tokens.token(), source, text, values), text


def add(
    ctx: Context, endpoint_id: str, source: EndpointSource, secret: str, values: Mapping[str, Any]
) -> EndpointRow:
    """Add an endpoint with these columns, and return it; it is active unless `values` has another state."""
    row = EndpointRow(
        **{
            "description": None,
            "state": EndpointState.ACTIVE.value,
            **values,
            **_WORKING,
            "id": endpoint_id,
            "secret": _sealed(ctx, secret),
            "previous_secret": None,
            "previous_until": None,
            "source": source.value,
            "created_by": None if ctx.caller is None else ctx.caller.user.id,
            "last_success_at": None,
            "created_at": ctx.now,
            "updated_at": ctx.now,
        }
    )
    ctx.db.defer(ADD_ENDPOINT, **row._asdict())
    events.endpoint_created(ctx, row.id, by_operator=ctx.is_operator)
    return row


async def update(
    ctx: Context, endpoint_id: str, sent: Mapping[str, Any], *, seen: str | None = None
) -> EndpointRow:
    """Change the fields of an endpoint that are present in `sent`; return the endpoint.

    The state `active` enables a disabled endpoint and resets its failures; another URL only resets the failures. `seen`
    is the `version` that a form was shown with, None without a form.

    Raises ValidationError, UnknownEvent, InvalidWebhookUrl, EndpointNotFound, EndpointReadOnly, StaleEndpoint.
    """
    values = fields.columns(sent)
    if "url" in values:
        await fields.check_url(ctx, values["url"])
    row = await _locked(ctx, endpoint_id)
    if seen is not None and any(value != getattr(row, name) for name, value in values.items()):
        _check_version(row, seen)
    return await change(ctx, row, values)


def _check_version(row: EndpointRow, seen: str) -> None:
    if version(row) != seen:  # defence: C8 seen-endpoint
        raise StaleEndpoint


async def change(ctx: Context, row: EndpointRow, values: Mapping[str, Any]) -> EndpointRow:
    """Change columns of a locked endpoint, and return it. Another URL or the state `active` resets its failures."""
    changed = {name: value for name, value in values.items() if value != getattr(row, name)}
    names = set(changed)
    if "url" in changed or values.get("state") == EndpointState.ACTIVE:
        revived = {name: value for name, value in _WORKING.items() if value != getattr(row, name)}
        names |= {"state"} if revived and "url" not in changed else set()
        changed |= revived
        if row.next_probe is not None:
            await deliveries.spread(ctx, row.id)  # defence: WH9 revived
    if not changed:
        return row
    events.endpoint_updated(ctx, row.id, names, by_operator=ctx.is_operator)
    found = await ctx.db.execute(CHANGE_ENDPOINT, endpoint_id=row.id, **changed, updated_at=ctx.now)
    now: EndpointRow = found[0]
    return now


async def remove(ctx: Context, endpoint_id: str) -> EndpointRow:
    """Delete an endpoint, and cancel its pending deliveries; return it. Raises EndpointNotFound, EndpointReadOnly."""
    row = await _locked(ctx, endpoint_id)
    await delete_row(ctx, row)
    return row


async def delete_row(ctx: Context, row: EndpointRow) -> None:
    """Delete a locked endpoint, and cancel its pending deliveries."""
    await ctx.db.execute(
        END_PENDING,
        of_endpoint=row.id,
        state=DeliveryState.CANCELLED,
        ended_at=ctx.now,
        updated_at=ctx.now,
    )
    await ctx.db.execute(REMOVE_ENDPOINT, endpoint_id=row.id)
    events.endpoint_deleted(ctx, row.id, by_operator=ctx.is_operator)


async def rotate_secret(
    ctx: Context, endpoint_id: str, secret: str | None, *, seen: str | None = None
) -> tuple[str, datetime | None]:
    """Replace the secret of an endpoint by `secret`, or by a random one (None).

    Returns the new secret, and until when the old one signs as well, None if it does not. `seen` is the `version` that
    a form was shown with, None without a form. Raises ValidationError, EndpointNotFound, EndpointReadOnly,
    StaleEndpoint.
    """
    text = fields.secret(secret)
    row = await _locked(ctx, endpoint_id)
    if seen is not None:
        _check_version(row, seen)
    row = await replace_secret(ctx, row, text)
    return text, row.previous_until


async def replace_secret(ctx: Context, row: EndpointRow, secret: str) -> EndpointRow:
    """Replace the secret of a locked endpoint; return the endpoint.

    The old secret also signs for `webhooks.secret_overlap`; even older ones do not any more.
    """
    # Each column has an encryption key of its own, so that the old secret cannot be copied as it is stored.
    old, overlap = ctx.cipher.decrypt(SECRET, row.secret), ctx.policy[WebhookPolicy].secret_overlap
    is_kept = old is not None and bool(overlap)
    events.secret_rotated(ctx, row.id, by_operator=ctx.is_operator)
    found = await ctx.db.execute(
        CHANGE_ENDPOINT,
        endpoint_id=row.id,
        secret=_sealed(ctx, secret),
        previous_secret=ctx.cipher.encrypt(PREVIOUS_SECRET, old) if is_kept and old is not None else None,
        previous_until=ctx.now + overlap if is_kept else None,
        updated_at=ctx.now,
    )
    now: EndpointRow = found[0]
    return now


async def _locked(ctx: Context, endpoint_id: str) -> EndpointRow:
    """Return an endpoint that may be changed, locked."""
    row: EndpointRow | None = (await ctx.db.execute(LOCK_ENDPOINT, endpoint_id=endpoint_id)).first()
    if row is None:
        raise EndpointNotFound
    if row.source == EndpointSource.CONFIG:
        raise EndpointReadOnly
    return row


def _sealed(ctx: Context, secret: str) -> bytes:
    return ctx.cipher.encrypt(SECRET, secret)  # defence: WH8 encrypted
