"""Create API keys: for the caller, for an organization (members with the permission), or for any owner (managers)."""

from typing import Any

from sqlalchemy import bindparam, func, or_, select
from sqlmodel import col

from domain import tokens
from domain.api_keys import events, fields, key_text, keys, mails, owners
from domain.api_keys.errors import (
    ApiKeyConfigurationNotFound,
    ApiKeyLimitReached,
    ApiKeysChanged,
    NameRequired,
    OrganizationIdRequired,
)
from domain.api_keys.fields import Fields
from domain.api_keys.owners import Owner
from domain.api_keys.policy import DEFAULT, ApiKeyPolicy
from domain.context import Context
from models.api_key import ApiKey, ApiKeyRow
from models.organization import OrganizationRow
from models.statements import insert, table_of
from models.user import UserRow

_IDS_OF = {
    owner: select(col(ApiKey.id)).where(col(column) == bindparam("owner_id")).order_by(col(ApiKey.id))
    for owner, column in ((UserRow, ApiKey.user_id), (OrganizationRow, ApiKey.organization_id))
}


async def create(
    ctx: Context,
    requested: Fields,
    *,
    kind: str | None = None,
    user_id: str | None = None,
    organization_id: str | None = None,
) -> tuple[ApiKeyRow, str]:
    """Create a key; return the key and its text, which is not stored.

    `kind` decides whether the key belongs to the organization or to a user: the caller (None) or, if the caller is a
    manager of all keys, any user.

    Raises ApiKeyConfigurationNotFound (unknown kind), ServerOnlyProperty, UnauthorizedSession, OrganizationIdRequired,
    UserNotMemberOfOrganization, InsufficientApiKeyPermissions, UserNotFound, YouAreNotAllowedToManageApiKeys,
    NameRequired, ApiKeyLimitReached; for invalid fields MetadataDisabled, InvalidMetadataType,
    RefillAmountAndIntervalRequired, RefillIntervalAndAmountRequired, KeyDisabledExpiration, ExpiresInIsTooSmall,
    ExpiresInIsTooLarge, InvalidPrefixLength, InvalidNameLength, ValidationError.
    """
    name = kind or DEFAULT
    key_kind, policy = keys.kind_of(ctx, name), ctx.policy[ApiKeyPolicy]
    fields.check_manager_only(requested, key_kind, is_manager=owners.is_manager(ctx))
    if user_id is not None:
        owners.require_manager(ctx)
    owner: Owner
    if not key_kind.is_of_organizations:
        owner = await owners.lock_user(ctx, user_id)
    elif organization_id is None:
        raise OrganizationIdRequired
    else:
        owner = await owners.lock_organization(ctx, organization_id, "create")
    values = fields.columns(ctx, requested, key_kind)
    if policy.require_name and "name" not in requested:
        raise NameRequired
    return await add(ctx, owner, name, requested.get("prefix"), values)


async def create_once(
    ctx: Context, requested: Fields, *, kind: str | None = None, owner: Owner | None = None, seen: str
) -> tuple[ApiKeyRow, str]:
    """Create a key as `create` does, unless the owner's keys have changed since `state_of_list` returned `seen`.

    A form that is sent twice therefore creates one key. `owner` is a user or an organization; None is the caller, and
    only a manager of all keys may name an owner.

    Raises ApiKeysChanged, and what `create` raises; ApiKeyConfigurationNotFound also if the owner is an organization
    and the kind is for users.
    """
    if owner is not None:
        owners.require_manager(ctx)
    locked: Owner
    if isinstance(owner, OrganizationRow):
        if not keys.kind_of(ctx, kind or DEFAULT).is_of_organizations:  # defence: KEY3 form-kind
            raise ApiKeyConfigurationNotFound
        locked = await owners.lock_organization(ctx, owner.id, "create")
    else:
        locked = await owners.lock_user(ctx, owner and owner.id)
    if await state_of_list(ctx, locked) != seen:  # defence: H7 C8 seen-keys
        raise ApiKeysChanged
    if isinstance(owner, OrganizationRow):
        return await create(ctx, requested, kind=kind, organization_id=owner.id)
    return await create(ctx, requested, kind=kind, user_id=owner and owner.id)


async def state_of_list(ctx: Context, owner: Owner) -> str:
    """Return a hexadecimal digest of the ids of the keys of an owner."""
    ids = await ctx.db.execute(_IDS_OF[type(owner)], owner_id=owner.id)
    return tokens.digest(" ".join(ids.scalars())).hex()


async def add(
    ctx: Context, owner: Owner, kind: str, prefix: str | None, values: dict[str, Any]
) -> tuple[ApiKeyRow, str]:
    """Create a key for an owner whose row is locked, and notify the owner; return the key and its text.

    `prefix` defaults to that of the kind, and `values` are columns that replace its defaults. Raises
    ApiKeyConfigurationNotFound (unknown kind), ApiKeyLimitReached.
    """
    key_kind, policy = keys.kind_of(ctx, kind), ctx.policy[ApiKeyPolicy]
    prefix = key_kind.default_prefix if prefix is None else prefix
    await _check_limit(ctx, owner)
    text, lasts = key_text.create(prefix), fields.default_expiry(policy, key_kind)
    created: dict[str, Any] = {
        "name": None,
        "enabled": True,
        "expires_at": None if lasts is None else ctx.now + lasts,
        # Without a number of requests left a key has no limit, and its refill would mean nothing.
        "remaining": values.get("refill_amount"),
        "refill_amount": None,
        "refill_interval_ms": None,
        "rate_limit_enabled": key_kind.rate_limit_enabled,
        "rate_limit_window_ms": int(key_kind.rate_limit_window.total_seconds() * 1000),
        "rate_limit_max": key_kind.rate_limit_max,
        "permissions": fields.permissions_text(key_kind.default_permissions),
        "custom_data": None,
        **values,
    }
    row = ApiKeyRow(
        id=tokens.token(),
        kind=kind,
        user_id=owner.id if isinstance(owner, UserRow) else None,
        organization_id=None if isinstance(owner, UserRow) else owner.id,
        created_by=None if ctx.caller is None else ctx.caller.user.id,
        prefix=prefix or None,
        start=key_text.start(text, prefix, policy.starting_characters),  # defence: KEY17 start
        last_request=None,
        last_refill_at=None,
        request_count=0,
        window_start=None,
        created_at=ctx.now,
        updated_at=ctx.now,
        **created,
    )
    await ctx.db.execute(insert(ApiKey), **row._asdict(), digest=tokens.digest(text))  # defence: KEY13 stored
    events.created(ctx, row)
    organization = None if isinstance(owner, UserRow) else owner.name
    for user in await owners.recipients(ctx, owner):
        # A stolen session could create a key for later; the owner learns of it.
        await mails.key_created(ctx, user, row, organization)  # defence: KEY12 notice
    return row, text


async def _check_limit(ctx: Context, owner: Owner) -> None:
    """Check that an owner, whose row is locked, may have one more key; expired ones do not count."""
    is_live = or_(col(ApiKey.expires_at).is_(None), col(ApiKey.expires_at) > ctx.now)
    column = col(ApiKey.user_id if isinstance(owner, UserRow) else ApiKey.organization_id)
    live = select(func.count()).select_from(table_of(ApiKey)).where(column == owner.id, is_live)
    most = ctx.policy[ApiKeyPolicy].limit_per_owner
    # Counted in the transaction that locks the owner; otherwise parallel requests would exceed the limit.
    if (await ctx.db.execute(live)).scalar() >= most:  # defence: KEY20 limit
        raise ApiKeyLimitReached
