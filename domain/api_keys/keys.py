"""Get, list, change and delete API keys: the caller's own, those of an organization for members with the
permission, or any key for callers who may manage keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update
from sqlmodel import col

from domain.api_keys import events, fields, owners
from domain.api_keys.errors import (
    ApiKeyConfigurationNotFound,
    ApiKeysChanged,
    KeyNotFound,
    NoValuesToUpdate,
)
from domain.api_keys.fields import Fields
from domain.api_keys.policy import ApiKeyPolicy, KeyKind
from domain.context import Context
from domain.users import lookup
from domain.users.errors import UserNotFound
from models.api_key import FIND_KEY, KEY_BY_ID, KEY_COLUMNS, ApiKey, ApiKeyRow
from models.base import to_milliseconds
from models.statements import table_of

_KEYS = select(*KEY_COLUMNS).execution_options(row=ApiKeyRow)
_TABLE = table_of(ApiKey)
_ONE = col(ApiKey.id) == bindparam("key_id")
_CHANGE = update(_TABLE).where(_ONE).returning(*KEY_COLUMNS).execution_options(row=ApiKeyRow)
_DELETE = delete(_TABLE).where(_ONE).returning(col(ApiKey.id))
_RATE_LIMIT = {"rate_limit_enabled", "rate_limit_window_ms", "rate_limit_max"}


@dataclass(frozen=True, slots=True)
class KeyQuery:
    """A page of keys to list."""

    kind: str | None
    user_id: str | None
    """The owner; None for the caller."""
    sort_by: str
    """The column by which the keys are sorted."""
    descending: bool
    limit: int
    offset: int
    organization_id: str | None = None
    """The organization whose keys are listed instead of those of a user."""


async def get(ctx: Context, key_id: str, kind: str | None = None) -> ApiKeyRow:
    """Return a key that the caller may see. With `kind`, a key of another kind counts as missing.

    Raises ApiKeyConfigurationNotFound, KeyNotFound, InsufficientApiKeyPermissions, YouAreNotAllowedToManageApiKeys.
    """
    row = await _find(ctx, key_id, kind)
    if row.organization_id is not None:
        await owners.require(ctx, row.organization_id, "read", KeyNotFound)
    elif row.user_id is not None and row.user_id != ctx.signed_in.user.id:
        owners.check_rank(ctx, await lookup.by_id(ctx, row.user_id))
    return row


async def list_keys(ctx: Context, query: KeyQuery) -> tuple[Sequence[ApiKeyRow], int]:
    """Return a page of the keys of an organization, of the caller or, for a manager, of another user; and their total
    number.

    Raises ApiKeyConfigurationNotFound, UnauthorizedSession, UserNotMemberOfOrganization, InsufficientApiKeyPermissions,
    UserNotFound, YouAreNotAllowedToManageApiKeys.
    """
    if query.kind is not None:
        kind_of(ctx, query.kind)
    whose = [await _listed_owner(ctx, query)]
    if query.kind is not None:
        whose.append(col(ApiKey.kind) == query.kind)
    column = col(getattr(ApiKey, query.sort_by))
    order = (column.desc(), col(ApiKey.id).desc()) if query.descending else (column.asc(), col(ApiKey.id))
    # PostgreSQL and SQLite sort NULL at opposite ends. The id fixes the order of equal values, so that pages do not
    # overlap.
    page = _KEYS.where(*whose).order_by(order[0].nulls_last(), order[1])
    rows = await ctx.db.execute(page.limit(query.limit).offset(query.offset))
    return rows, (await ctx.db.execute(select(func.count()).select_from(_TABLE).where(*whose))).scalar()


async def _listed_owner(ctx: Context, query: KeyQuery) -> ColumnElement[bool]:
    """Return the condition for the owner of the keys to list."""
    if query.user_id is not None:
        owners.require_manager(ctx)
    if query.organization_id is not None:
        organization = await owners.require(ctx, query.organization_id, "read")
        return col(ApiKey.organization_id) == organization.id
    if query.user_id is None:
        return col(ApiKey.user_id) == ctx.signed_in.user.id
    user = await lookup.by_id(ctx, query.user_id)
    if user is None:
        raise UserNotFound
    return col(ApiKey.user_id) == owners.check_rank(ctx, user).id


def version(row: ApiKeyRow) -> str:
    """Return a text that differs after every change of a key, but not after a use.

    Forms contain it to detect concurrent changes.
    """
    return str(to_milliseconds(row.updated_at))


async def update_key(
    ctx: Context, key_id: str, requested: Fields, *, kind: str | None = None, seen: str | None = None
) -> ApiKeyRow:
    """Change the fields of a key that are present in `requested`, all or none; return the key.

    With `kind`, a key of another kind counts as missing. `seen` is the `version` that a form was shown with, None
    without a form.

    Raises ApiKeyConfigurationNotFound, KeyNotFound, InsufficientApiKeyPermissions, YouAreNotAllowedToManageApiKeys,
    ServerOnlyProperty, NoValuesToUpdate, ApiKeysChanged; for invalid fields MetadataDisabled, InvalidMetadataType,
    RefillAmountAndIntervalRequired, RefillIntervalAndAmountRequired, KeyDisabledExpiration, ExpiresInIsTooSmall,
    ExpiresInIsTooLarge, InvalidPrefixLength, InvalidNameLength, ValidationError.
    """
    row = await _find(ctx, key_id, kind)
    await _lock_owner(ctx, row, "update")
    key_kind = kind_of(ctx, row.kind)
    if seen is not None:
        row = await _unchanged(ctx, key_id, seen)
    fields.check_manager_only(requested, key_kind, is_manager=owners.is_manager(ctx))
    values = fields.columns(ctx, requested, key_kind)
    if not values:
        raise NoValuesToUpdate
    return await change(ctx, row, values, requested)


async def _unchanged(ctx: Context, key_id: str, seen: str) -> ApiKeyRow:
    """Return a key, whose owner is locked, if it has this version. Raises KeyNotFound, ApiKeysChanged."""
    row: ApiKeyRow | None = (await ctx.db.execute(FIND_KEY, key_id=key_id)).first()
    if row is None:
        raise KeyNotFound
    if version(row) != seen:  # defence: C8 seen-key
        raise ApiKeysChanged
    return row


async def change(
    ctx: Context, row: ApiKeyRow, values: dict[str, Any], names: Sequence[str] | Fields
) -> ApiKeyRow:
    """Change columns of a key, and return it. A new refill or rate limit begins now.

    `names` are the changed fields, for the audit record. Raises KeyNotFound.
    """
    begins: dict[str, Any] = {}
    if values.get("refill_amount") is not None:
        begins["last_refill_at"] = ctx.now
        if row.remaining is None and "remaining" not in values:
            begins["remaining"] = values["refill_amount"]
    if _RATE_LIMIT & values.keys():
        begins |= {"request_count": 0, "window_start": None}
    changed: ApiKeyRow | None = (
        await ctx.db.execute(_CHANGE, key_id=row.id, **values, **begins, updated_at=ctx.now)
    ).first()
    if changed is None:
        raise KeyNotFound
    events.updated(ctx, row, names)
    return changed


async def delete_key(ctx: Context, key_id: str, *, kind: str | None = None) -> None:
    """Delete a key. With `kind`, a key of another kind counts as missing.

    Raises ApiKeyConfigurationNotFound, KeyNotFound, InsufficientApiKeyPermissions, YouAreNotAllowedToManageApiKeys.
    """
    row = await _find(ctx, key_id, kind)
    await _lock_owner(ctx, row, "delete")
    await remove(ctx, row)


async def remove(ctx: Context, row: ApiKeyRow) -> None:
    """Delete a key without checking permissions. Raises KeyNotFound if it is deleted already."""
    if not await ctx.db.execute(_DELETE, key_id=row.id):
        raise KeyNotFound
    events.deleted(ctx, row)


async def remove_created_for_organizations(ctx: Context, user_id: str) -> None:
    """Delete the keys that a user, who is locked, has created for organizations."""
    created = delete(_TABLE).where(
        col(ApiKey.created_by) == user_id, col(ApiKey.organization_id).is_not(None)
    )
    for row in await ctx.db.execute(created.returning(*KEY_COLUMNS).execution_options(row=ApiKeyRow)):
        events.disowned(ctx, row)


async def enabled_after_reset(ctx: Context, user_id: str) -> int:
    """Disable all keys of a user after a password reset if the policy says so; return the number still enabled."""
    policy = ctx.policy[ApiKeyPolicy]
    if not policy.enabled:
        return 0
    theirs = (col(ApiKey.user_id) == user_id, col(ApiKey.enabled))
    if not policy.disable_on_reset:
        return int((await ctx.db.execute(select(func.count()).select_from(_TABLE).where(*theirs))).scalar())
    disabled = update(_TABLE).where(*theirs).returning(col(ApiKey.id))
    number = len(await ctx.db.execute(disabled, enabled=False, updated_at=ctx.now))
    if number:
        events.disabled(ctx, user_id, number)
    return 0


def kind_of(ctx: Context, name: str) -> KeyKind:
    """Return a configured kind of keys. Raises ApiKeyConfigurationNotFound."""
    kind = ctx.policy[ApiKeyPolicy].kinds.get(name)
    if kind is None:
        raise ApiKeyConfigurationNotFound
    return kind


async def _find(ctx: Context, key_id: str, kind: str | None) -> ApiKeyRow:
    """Return a key of the caller, of an organization or, for a manager, of any user.

    A key of another kind counts as missing. Membership in the organization is checked by the caller of this function.
    """
    if kind is not None:
        kind_of(ctx, kind)
    row = await ctx.reads.one(KEY_BY_ID, key_id)
    # defence: KEY2 owner
    if row is None or not (row.user_id in (None, ctx.signed_in.user.id) or owners.is_manager(ctx)):
        raise KeyNotFound
    if kind is not None and row.kind != kind:
        raise KeyNotFound
    return row


async def _lock_owner(ctx: Context, row: ApiKeyRow, action: str) -> None:
    """Lock the owner of a key that the caller may act on; a key of a foreign organization counts as missing."""
    if row.organization_id is None:
        await owners.lock_user(ctx, row.user_id)
    else:
        await owners.lock_organization(ctx, row.organization_id, action, KeyNotFound)
