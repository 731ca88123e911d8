"""Look up, add and change clients."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import orjson

from domain import tokens
from domain.context import Context
from domain.oauth_clients import document_metadata, redirect_uris
from domain.oauth_clients.policy import ClientPolicy
from models.oauth_client import (
    ADD_CLIENT,
    CHANGE_CLIENT,
    CLIENT_BY_ID,
    NOTE_USE,
    ClientRow,
    ClientSource,
)
from models.oauth_code import CODES_OF_REDIRECT_URI, REDIRECT_URIS_OF_CODES

SECRET_PREFIX = "gws_"  # noqa: S105 - the prefix of client secrets
CLIENT_ID_PREFIX = "app_"
UNUSED_DOCUMENT = timedelta(days=90)
"""How long a client from a metadata document is kept after it has received its last token."""
_KEPT_AFTER_USE: Mapping[str, timedelta | None] = {
    ClientSource.DYNAMIC: None,
    ClientSource.DOCUMENT: UNUSED_DOCUMENT,
}
"""How long clients that registered themselves, or come from a document, are kept after a use; None for ever."""


async def read(ctx: Context, client_id: str) -> ClientRow | None:
    """Return the client with this id, even if it is disabled; None if there is none. Reads outside the transaction."""
    return await ctx.reads.one(CLIENT_BY_ID, client_id)


async def find(ctx: Context, client_id: str) -> ClientRow | None:
    """Return the client with this id; None if there is none, or it is disabled. Reads outside the transaction.

    No metadata document is requested. A client from a document is None if such documents are no longer accepted.
    """
    found = await read(ctx, client_id)
    if found is None or found.disabled_at is not None:
        return None
    if found.source != ClientSource.DOCUMENT:
        return found
    policy = ctx.policy[ClientPolicy]
    is_accepted = policy.client_documents and document_metadata.is_url(client_id, policy)
    return found if is_accepted else None


def note_use(ctx: Context, client: ClientRow) -> None:
    """Store, once a day, that a client has received a token.

    This postpones or removes the expiry of clients that registered themselves or come from a document.
    """
    today = ctx.now.replace(hour=0, minute=0, second=0, microsecond=0)
    if client.last_used_on is None or client.last_used_on < today:
        changes: dict[str, Any] = {}
        if client.source in _KEPT_AFTER_USE:
            kept = _KEPT_AFTER_USE[client.source]
            changes["expires_at"] = None if kept is None else ctx.now + kept
        ctx.db.defer(NOTE_USE, id=client.client_id, today=today, last_used_on=today, **changes)


def new(
    ctx: Context,
    metadata: Mapping[str, Any],
    source: ClientSource,
    *,
    owner_id: str | None = None,
    expires_at: datetime | None = None,
    client_id: str | None = None,
    own_secret: str | None = None,
) -> tuple[ClientRow, str | None]:
    """Return a new client that is not stored yet, and its secret; None for the secret if the client has none.

    The parameters are those of `add`.
    """
    secret = own_secret or (new_secret() if has_secret(metadata) else None)
    row = ClientRow(
        client_id=client_id or CLIENT_ID_PREFIX + tokens.token(24),
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
    return row, secret


async def replace(ctx: Context, row: ClientRow, checked: Mapping[str, Any], **columns: Any) -> ClientRow:
    """Replace the metadata and other columns of a client whose row is locked; return the client.

    Authorization codes for redirect URIs that the client no longer has are ended.
    """
    found = await change(
        ctx,
        row,
        client_name=checked["client_name"],
        registration=orjson.dumps(checked).decode(),
        **columns,
    )
    sent_to = (await ctx.db.execute(REDIRECT_URIS_OF_CODES, client_id=row.client_id)).scalars()
    for uri in sent_to:
        # defence: O16 redirect-uri-removed
        if not redirect_uris.matches(checked["redirect_uris"], uri, by_document=row.is_document):
            await ctx.db.execute(CODES_OF_REDIRECT_URI, client_id=row.client_id, redirect_uri=uri)
    return found


async def change(ctx: Context, row: ClientRow, **columns: Any) -> ClientRow:
    """Set columns of a client whose row is locked; return the client."""
    found = await ctx.db.execute(CHANGE_CLIENT, id=row.client_id, **columns, updated_at=ctx.now)
    changed: ClientRow = found[0]
    return changed


async def add(
    ctx: Context,
    metadata: Mapping[str, Any],
    source: ClientSource,
    *,
    owner_id: str | None = None,
    expires_at: datetime | None = None,
    client_id: str | None = None,
    own_secret: str | None = None,
) -> tuple[ClientRow, str | None]:
    """Store a client with checked metadata; return the client and its secret, None if it has no secret.

    Only a digest of the secret is stored. `client_id` and `own_secret` come from the configuration; if they are None,
    new ones are generated. `owner_id` is the user who manages the client, if any.
    """
    row, secret = new(
        ctx,
        metadata,
        source,
        owner_id=owner_id,
        expires_at=expires_at,
        client_id=client_id,
        own_secret=own_secret,
    )
    await ctx.db.execute(ADD_CLIENT, **row._asdict())
    return row, secret


def has_secret(metadata: Mapping[str, Any]) -> bool:
    """Return whether a client with this metadata authenticates with a secret."""
    method: str = metadata["token_endpoint_auth_method"]
    return method.startswith("client_secret")


def new_secret() -> str:
    """Return a new client secret."""
    return SECRET_PREFIX + tokens.token()
