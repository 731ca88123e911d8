"""Manage API keys for the operator, without permission checks."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlalchemy import func, select
from sqlmodel import col

from domain import errors
from domain.api_keys import creation, fields, keys, verification
from domain.api_keys.errors import InvalidApiKey, KeyNotFound
from domain.api_keys.owners import Owner
from domain.api_keys.verification import VerifiedKey
from domain.context import Context
from domain.organizations import access
from domain.users import locking, lookup
from models.api_key import FIND_KEY, KEY_COLUMNS, ApiKey, ApiKeyRow
from models.organization import FIND_BY_SLUG, FIND_ORGANIZATION, OrganizationRow


async def create(
    ctx: Context,
    kind: str,
    requested: fields.Fields,
    *,
    user: str | None = None,
    organization: str | None = None,
) -> tuple[ApiKeyRow, str]:
    """Create a key for a user (id, email address or username) or an organization (id or slug).

    Returns the key and its text, which is not stored. Raises NotFound, BadRequest if the kind is for other owners,
    ApiKeyConfigurationNotFound (unknown kind), ApiKeyLimitReached; for invalid fields MetadataDisabled,
    InvalidMetadataType, RefillAmountAndIntervalRequired, RefillIntervalAndAmountRequired, KeyDisabledExpiration,
    ExpiresInIsTooSmall, ExpiresInIsTooLarge, InvalidPrefixLength, InvalidNameLength, ValidationError.
    """
    key_kind = keys.kind_of(ctx, kind)
    if key_kind.is_of_organizations != (organization is not None):
        owners = "organizations" if key_kind.is_of_organizations else "users"
        raise errors.BadRequest(f"The kind {kind} is for keys of {owners}")
    values = fields.columns(ctx, requested, key_kind)
    owner = await (_lock_user(ctx, user or "") if organization is None else _lock(ctx, organization))
    return await creation.add(ctx, owner, kind, requested.get("prefix"), values)


async def _lock_user(ctx: Context, user: str) -> Owner:
    owner = await locking.lock(ctx, (await lookup.find(ctx, user)).id)
    if owner is None:
        raise errors.NotFound("There is no such user")
    return owner


async def _lock(ctx: Context, organization: str) -> Owner:
    owner = await access.lock(ctx, (await _find_organization(ctx, organization)).id)
    if owner is None:
        raise errors.NotFound("There is no such organization")
    return owner


async def _find_organization(ctx: Context, organization: str) -> OrganizationRow:
    by_id = await ctx.db.execute(FIND_ORGANIZATION, organization_id=organization)
    found: OrganizationRow | None = (
        by_id or await ctx.db.execute(FIND_BY_SLUG, slug=organization.lower())
    ).first()
    if found is None:
        raise errors.NotFound("There is no such organization")
    return found


async def list_keys(
    ctx: Context,
    *,
    user: str | None = None,
    organization: str | None = None,
    created_by: str | None = None,
    unused: timedelta | None = None,
) -> Sequence[ApiKeyRow]:
    """Return the keys that match every given filter, newest first.

    `unused` selects keys that were not used for this time. Users are named by id, email address or username,
    organizations by id or slug. Raises NotFound if a named one does not exist.
    """
    statement = select(*KEY_COLUMNS).order_by(col(ApiKey.created_at).desc(), col(ApiKey.id))
    if user is not None:
        statement = statement.where(col(ApiKey.user_id) == (await lookup.find(ctx, user)).id)
    if organization is not None:
        owner = await _find_organization(ctx, organization)
        statement = statement.where(col(ApiKey.organization_id) == owner.id)
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
    """Change the fields of a key that are present in `requested`; return the key.

    Raises KeyNotFound, ApiKeyConfigurationNotFound if the kind of the key is no longer configured; for invalid fields
    MetadataDisabled, InvalidMetadataType, RefillAmountAndIntervalRequired, RefillIntervalAndAmountRequired,
    KeyDisabledExpiration, ExpiresInIsTooSmall, ExpiresInIsTooLarge, InvalidPrefixLength, InvalidNameLength,
    ValidationError.
    """
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
    """Verify the key with this text without counting a use; return the key.

    Raises InvalidApiKey, UserBanned, KeyDisabled, KeyExpired, KeyPermissionsInsufficient, RateLimited, UsageExceeded.
    """
    verified = await find(ctx, text)
    verification.check(verified, permissions, ctx.now)
    return verified
