"""The operations of openapi/paths/api_keys.yaml."""

from typing import Any

from domain.api_keys import fields, keys, verification
from domain.context import Context, Rollback
from handlers import shapes, wire

_SORTED = {
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "name": "name",
    "expiresAt": "expires_at",
    "lastRequest": "last_request",
}
"""The fields that lists may be sorted by, and their columns."""


# api_keys.create
async def create(ctx: Context, body: shapes.CreateApiKeyRequest) -> shapes.CreatedApiKey:
    """Create a key."""
    sent: dict[str, Any] = {**body}
    wanted = {name: sent[name] for name in fields.SHARED | {"prefix"} if name in sent}
    row, text = await keys.create(ctx, wanted, kind=body.get("configId"), user_id=body.get("userId"))
    return {**wire.api_key(row), "key": text}


# api_keys.get
async def get(ctx: Context, id_: str, config_id: str | None = None) -> shapes.ApiKey:
    """Return a key."""
    return wire.api_key(await keys.get(ctx, id_, config_id))


# api_keys.list_own
async def list_own(
    ctx: Context,
    config_id: str | None = None,
    user_id: str | None = None,
    sort_by: str | None = None,
    sort_direction: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
) -> shapes.ApiKeyPage:
    """Return a page of keys."""
    query = keys.KeyQuery(
        kind=config_id,
        user_id=user_id,
        sort_by=_SORTED[sort_by or "createdAt"],
        descending=(sort_direction or ("desc" if sort_by is None else "asc")) == "desc",
        limit=100 if limit is None else limit,
        offset=offset or 0,
    )
    rows, total = await keys.list_keys(ctx, query)
    return {
        "apiKeys": [wire.api_key(row) for row in rows],
        "total": total,
        "limit": query.limit,
        "offset": query.offset,
    }


# api_keys.update
async def update(ctx: Context, body: shapes.UpdateApiKeyRequest) -> shapes.ApiKey:
    """Change a key."""
    sent: dict[str, Any] = {**body}
    wanted = {name: sent[name] for name in fields.SHARED | {"enabled"} if name in sent}
    return wire.api_key(await keys.update_key(ctx, body["keyId"], wanted, kind=body.get("configId")))


# api_keys.delete
async def delete(ctx: Context, body: shapes.DeleteApiKeyRequest) -> shapes.DeletedApiKey:
    """Delete a key."""
    await keys.delete_key(ctx, body["keyId"], kind=body.get("configId"))
    return {"success": True}


# api_keys.verify
async def verify(
    ctx: Context, body: shapes.VerifyApiKeyRequest
) -> shapes.ApiKeyVerdict | Rollback[shapes.ApiKeyVerdict]:
    """Verify a key for another service."""
    try:
        found = await verification.verify(
            ctx, body["key"], asked=body.get("permissions"), kind=body.get("configId")
        )
    except verification.REFUSALS as refusal:
        # defence: KEY9 rolled-back
        return Rollback({"valid": False, "error": wire.key_refusal(refusal), "key": None})
    return {"valid": True, "error": None, "key": wire.api_key(found.key)}
