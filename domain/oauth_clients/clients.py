"""Look up clients, and enter new ones."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from domain import tokens
from domain.context import Context
from models.oauth_client import ADD_CLIENT, CLIENT_BY_ID, NOTE_CLIENT_USE, ClientRow, ClientSource

SECRET_PREFIX = "gws_"  # noqa: S105 - the prefix of client secrets
CLIENT_ID_PREFIX = "app_"


async def find(ctx: Context, client_id: str) -> ClientRow | None:
    """Return a client that is not disabled, or None, read outside the transaction."""
    found = await ctx.reads.one(CLIENT_BY_ID, client_id)
    return None if found is None or found.disabled_at is not None else found


def note_use(ctx: Context, client: ClientRow) -> None:
    """Note, once a day, that a client has received a token."""
    today = ctx.now.replace(hour=0, minute=0, second=0, microsecond=0)
    if client.last_used_on is None or client.last_used_on < today:
        ctx.db.defer(NOTE_CLIENT_USE, whose=client.client_id, today=today, last_used_on=today)


async def add(
    ctx: Context,
    metadata: Mapping[str, Any],
    source: ClientSource,
    *,
    owner_id: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[ClientRow, str | None]:
    """Enter a client with checked metadata; return it and its secret, which is not stored, if it has one."""
    has_secret = metadata["token_endpoint_auth_method"].startswith("client_secret")
    secret = SECRET_PREFIX + tokens.token() if has_secret else None
    row = ClientRow(
        client_id=CLIENT_ID_PREFIX + tokens.token(24),
        client_name=metadata["client_name"],
        secret=None if secret is None else tokens.digest(secret),
        previous_secret=None,
        previous_until=None,
        registration=orjson.dumps(metadata).decode(),
        source=source,
        owner_id=owner_id,
        disabled_at=None,
        last_used_on=None,
        fetched_at=None,
        fresh_until=None,
        expires_at=expires_at,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    await ctx.db.execute(ADD_CLIENT, **row._asdict())
    return row, secret
