"""Manage keys for the operator, without permission checks."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlalchemy import func, select
from sqlmodel import col

from domain import errors
from domain.api_keys import fields, keys, verification
from domain.api_keys.errors import InvalidApiKey, KeyNotFound
from domain.api_keys.verification import VerifiedKey
from domain.context import Context
from domain.users import locking, lookup
from models.api_key import FIND_KEY, KEY_COLUMNS, ApiKey, ApiKeyRow


async def create(ctx: Context, user: str, kind: str, requested: fields.Fields) -> tuple[ApiKeyRow, str]:
    """Create a key of the user with this id, address or username; return it, and its text.

    Raises NotFound, and the errors of `keys.add` and `fields.columns`.
    """
    values = fields.columns(ctx, requested, keys.kind_of(ctx, kind))
    owner = await locking.lock(ctx, (await lookup.find(ctx, user)).id)
    if owner is None:
        raise errors.NotFound("There is no such user")
    return await keys.add(ctx, owner, kind, requested.get("prefix"), values)


async def list_keys(
    ctx: Context, *, user: str | None = None, created_by: str | None = None, unused: timedelta | None = None
) -> Sequence[ApiKeyRow]:
    """Return keys, newest first, filtered by owner, by creator, or by time without use. Raises NotFound."""
    statement = select(*KEY_COLUMNS).order_by(col(ApiKey.created_at).desc(), col(ApiKey.id))
    if user is not None:
        statement = statement.where(col(ApiKey.user_id) == (await lookup.find(ctx, user)).id)
    if created_by is not None:
        statement = statement.where(col(ApiKey.created_by) == (await lookup.find(ctx, created_by)).id)
    if unused is not None:
        last = func.coalesce(col(ApiKey.last_request), col(ApiKey.created_at))
        statement = statement.where(last <= ctx.now - unused)
    return await ctx.db.execute(statement.execution_options(row=ApiKeyRow))


async def get(ctx: Context, key_id: str) -> ApiKeyRow:
    """Return a key. Raises KeyNotFound."""
    row: ApiKeyRow | None = (await ctx.db.execute(FIND_KEY, key_id=key_id)).first()
    if row is None:
        raise KeyNotFound
    return row


async def update(ctx: Context, key_id: str, requested: fields.Fields) -> ApiKeyRow:
    """Change the fields of a key that are present. Raises KeyNotFound, and the errors of `fields.columns`."""
    row = await get(ctx, key_id)
    return await keys.change(ctx, row, fields.columns(ctx, requested, keys.kind_of(ctx, row.kind)), requested)


async def delete(ctx: Context, key_id: str) -> None:
    """Delete a key. Raises KeyNotFound."""
    await keys.remove(ctx, await get(ctx, key_id))


async def find(ctx: Context, text: str) -> VerifiedKey:
    """Return the stored key with this text, valid or not. Raises InvalidApiKey."""
    verified = await verification.find(ctx, text)
    if verified is None:
        raise InvalidApiKey
    return verified


async def verify(ctx: Context, text: str, permissions: Mapping[str, Sequence[str]]) -> VerifiedKey:
    """Verify a key without using it. Raises the reason why it is refused."""
    verified = await find(ctx, text)
    verification.check(verified, permissions, ctx.now)
    return verified
