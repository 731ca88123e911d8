"""The operations of openapi/paths/api_keys.yaml.

Create, read, change and delete API keys, and verify a key for another service.
"""

from functools import lru_cache
from typing import Any, cast

import orjson

from domain.admin import api_keys
from domain.admin.api_keys import KeyFilter
from domain.api_keys import creation, fields, keys, verification
from domain.api_keys.owners import Owner
from domain.context import Context, Rollback
from domain.errors import Refusal
from handlers import shapes, wire
from models.api_key import ApiKeyRow
from models.user import UserRow

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
    requested = {name: sent[name] for name in fields.SHARED | {"prefix"} if name in sent}
    row, text = await creation.create(
        ctx,
        requested,
        kind=body.get("configId"),
        user_id=body.get("userId"),
        organization_id=body.get("organizationId"),
    )
    return {**api_key_shape(row), "key": text}


# api_keys.get
async def get(ctx: Context, id_: str, config_id: str | None = None) -> shapes.ApiKey:
    """Return an API key that the caller may see. With `config_id`, a key of another kind counts as missing.

    Raises ApiKeyConfigurationNotFound, KeyNotFound, InsufficientApiKeyPermissions, YouAreNotAllowedToManageApiKeys.
    """
    return api_key_shape(await keys.get(ctx, id_, config_id))


# api_keys.list_own
async def list_own(
    ctx: Context,
    config_id: str | None = None,
    organization_id: str | None = None,
    user_id: str | None = None,
    sort_by: str | None = None,
    sort_direction: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
) -> shapes.ApiKeyPage:
    """Return a page of the API keys of the caller, of a user, or of an organization."""
    query = keys.KeyQuery(
        kind=config_id,
        user_id=user_id,
        sort_by=_SORTED[sort_by or "createdAt"],
        descending=(sort_direction or ("desc" if sort_by is None else "asc")) == "desc",
        limit=100 if limit is None else limit,
        offset=offset or 0,
        organization_id=organization_id,
    )
    rows, total = await keys.list_keys(ctx, query)
    return {
        "apiKeys": [api_key_shape(row) for row in rows],
        "total": total,
        "limit": query.limit,
        "offset": query.offset,
    }


# api_keys.list_all
async def list_all(
    ctx: Context,
    start: str | None = None,
    owner: str | None = None,
    config_id: str | None = None,
    state: api_keys.State | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> shapes.OwnedApiKeyPage:
    """Return a page of the API keys of all users and organizations. `config_id` selects a kind of keys."""
    wanted = KeyFilter(start, owner, config_id, state)
    before = None if cursor is None else wire.position(cursor)
    page = await api_keys.list_keys(ctx, wanted, before=before, limit=100 if limit is None else limit)
    return {
        "apiKeys": [{**api_key_shape(one.key), "owner": _owner(one.owner)} for one in page.keys],
        "nextCursor": None if page.last is None else wire.cursor(page.last),
    }


# api_keys.update
async def update(ctx: Context, body: shapes.UpdateApiKeyRequest) -> shapes.ApiKey:
    """Change a key."""
    sent: dict[str, Any] = {**body}
    requested = {name: sent[name] for name in fields.SHARED | {"enabled"} if name in sent}
    return api_key_shape(await keys.update_key(ctx, body["keyId"], requested, kind=body.get("configId")))


# api_keys.delete
async def delete(ctx: Context, body: shapes.DeleteApiKeyRequest) -> shapes.DeletedApiKey:
    """Delete a key."""
    await keys.delete_key(ctx, body["keyId"], kind=body.get("configId"))
    return {"success": True}


# api_keys.verify
async def verify(
    ctx: Context, body: shapes.VerifyApiKeyRequest
) -> shapes.ApiKeyVerdict | Rollback[shapes.ApiKeyVerdict]:
    """Verify an API key on behalf of another service."""
    try:
        verified = await verification.verify(
            ctx, body["key"], permissions=body.get("permissions"), kind=body.get("configId")
        )
    except verification.REFUSALS as refusal:
        # Rolled back, so that a refused verification costs the owner neither a use nor a request.
        # defence: KEY9 rolled-back
        return Rollback({"valid": False, "error": _key_refusal(refusal), "key": None})
    return {"valid": True, "error": None, "key": api_key_shape(verified.key)}


def _owner(owner: Owner) -> shapes.ApiKeyOwner:
    email, slug = (owner.email, None) if isinstance(owner, UserRow) else (None, owner.slug)
    return {"id": owner.id, "name": owner.name, "email": email, "slug": slug}


@lru_cache(maxsize=512)
def api_key_shape(row: ApiKeyRow) -> shapes.ApiKey:
    """Return an API key in the form of API responses, without its text."""
    return {
        "id": row.id,
        "configId": row.kind,
        "name": row.name,
        "start": row.start,
        "prefix": row.prefix,
        "referenceId": row.owner_id,
        "enabled": row.enabled,
        "expiresAt": wire.optional_instant(row.expires_at),
        "remaining": row.remaining,
        "refillAmount": row.refill_amount,
        "refillInterval": row.refill_interval_ms,
        "lastRefillAt": wire.optional_instant(row.last_refill_at),
        "rateLimitEnabled": row.rate_limit_enabled,
        "rateLimitTimeWindow": row.rate_limit_window_ms,
        "rateLimitMax": row.rate_limit_max,
        "requestCount": row.request_count,
        "lastRequest": wire.optional_instant(row.last_request),
        "permissions": None if row.permissions is None else orjson.loads(row.permissions),
        "metadata": None if row.custom_data is None else orjson.loads(row.custom_data),
        "createdBy": row.created_by,
        "createdAt": wire.instant(row.created_at),
        "updatedAt": wire.instant(row.updated_at),
    }


def _key_refusal(refusal: Refusal) -> shapes.ApiKeyRefusal:
    """Return why a key is refused, and when it can be used again if that is known."""
    shape: dict[str, Any] = {"message": refusal.message, "code": refusal.code}
    if refusal.details:
        shape["details"] = dict(refusal.details)
    return cast(shapes.ApiKeyRefusal, shape)
