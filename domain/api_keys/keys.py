"""Create, get, list, change and delete API keys: the caller's own, those of an organization for members with the
permission, or any key for callers who may manage keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, func, or_, select, update
from sqlmodel import col

from domain import tokens
from domain.api_keys import events, fields, key_text, mails, owners
from domain.api_keys.errors import (
    ApiKeyConfigurationNotFound,
    ApiKeyLimitReached,
    ApiKeysChanged,
    KeyNotFound,
    NameRequired,
    NoValuesToUpdate,
    OrganizationIdRequired,
)
from domain.api_keys.fields import Fields
from domain.api_keys.owners import Owner
from domain.api_keys.policy import DEFAULT, ApiKeyPolicy, KeyKind
from domain.context import Context
from domain.users import lookup
from domain.users.errors import UserNotFound
from models.api_key import FIND_KEY, KEY_BY_ID, KEY_COLUMNS, ApiKey, ApiKeyRow
from models.base import to_milliseconds
from models.statements import insert, table_of
from models.user import UserRow

_KEYS = select(*KEY_COLUMNS).execution_options(row=ApiKeyRow)
_TABLE = table_of(ApiKey)
_ONE = col(ApiKey.id) == bindparam("key_id")
_CHANGE = update(_TABLE).where(_ONE).returning(*KEY_COLUMNS).execution_options(row=ApiKeyRow)
_DELETE = delete(_TABLE).where(_ONE).returning(col(ApiKey.id))
_IDS = select(col(ApiKey.id)).where(col(ApiKey.user_id) == bindparam("user_id")).order_by(col(ApiKey.id))
_RATE_LIMIT = {"rate_limit_enabled", "rate_limit_window_ms", "rate_limit_max"}


@dataclass(frozen=True, slots=True)
class KeyQuery:
    """A page of keys to list."""

    kind: str | None
    user_id: str | None
    """The owner; None for the caller."""
    sort_by: str
    """A column."""
    descending: bool
    limit: int
    offset: int
    organization_id: str | None = None
    """The organization whose keys are listed instead of those of a user."""


async def create(
    ctx: Context,
    requested: Fields,
    *,
    kind: str | None = None,
    user_id: str | None = None,
    organization_id: str | None = None,
) -> tuple[ApiKeyRow, str]:
    """Create a key; return the key and its text, which is not stored.

    Its kind decides whether it belongs to an organization or to a user: the caller or, for a manager, another one.

    Raises ApiKeyConfigurationNotFound, ServerOnlyProperty, UnauthorizedSession, OrganizationIdRequired,
    UserNotMemberOfOrganization, InsufficientApiKeyPermissions, UserNotFound, YouAreNotAllowedToManageApiKeys, the
    errors of `fields.columns`, NameRequired, ApiKeyLimitReached.
    """
    name = kind or DEFAULT
    key_kind, policy = kind_of(ctx, name), ctx.policy[ApiKeyPolicy]
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
    ctx: Context, requested: Fields, *, kind: str | None = None, user_id: str | None = None, seen: str
) -> tuple[ApiKeyRow, str]:
    """Create a key as `create` does, unless the owner's keys have changed since `state_of_list` returned `seen`.

    A form that is sent twice therefore creates one key.

    Raises ApiKeysChanged, and the errors of `create`.
    """
    if user_id is not None:
        owners.require_manager(ctx)
    owner = await owners.lock_user(ctx, user_id)
    if await state_of_list(ctx, owner.id) != seen:  # defence: H7 C8 seen-keys
        raise ApiKeysChanged
    return await create(ctx, requested, kind=kind, user_id=user_id)


async def state_of_list(ctx: Context, user_id: str) -> str:
    """Return a hexadecimal digest of the ids of the keys of a user."""
    ids = await ctx.db.execute(_IDS, user_id=user_id)
    return tokens.digest(" ".join(ids.scalars())).hex()


async def add(
    ctx: Context, owner: Owner, kind: str, prefix: str | None, values: dict[str, Any]
) -> tuple[ApiKeyRow, str]:
    """Create a key of an owner whose row is locked, and notify them; return it, and its text.

    Raises ApiKeyConfigurationNotFound, ApiKeyLimitReached.
    """
    key_kind, policy = kind_of(ctx, kind), ctx.policy[ApiKeyPolicy]
    prefix = key_kind.default_prefix if prefix is None else prefix
    await _check_limit(ctx, owner)
    text, lasts = key_text.create(prefix), fields.default_expiry(policy, key_kind)
    created: dict[str, Any] = {
        "name": None,
        "enabled": True,
        "expires_at": None if lasts is None else ctx.now + lasts,
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


async def get(ctx: Context, key_id: str, kind: str | None = None) -> ApiKeyRow:
    """Return a key that the caller may see.

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
    """Return what changes whenever a key is changed, for forms; its uses do not count."""
    return str(to_milliseconds(row.updated_at))


async def update_key(
    ctx: Context, key_id: str, requested: Fields, *, kind: str | None = None, seen: str | None = None
) -> ApiKeyRow:
    """Change the fields of a key that are present, all or none; `seen` is the version that a form was filled with.

    Raises ApiKeyConfigurationNotFound, KeyNotFound, InsufficientApiKeyPermissions, YouAreNotAllowedToManageApiKeys,
    ServerOnlyProperty, the errors of `fields.columns`, NoValuesToUpdate, ApiKeysChanged.
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
    """Change columns of a key; a new refill or rate limit begins now. Raises KeyNotFound."""
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
    """Delete a key.

    Raises ApiKeyConfigurationNotFound, KeyNotFound, InsufficientApiKeyPermissions, YouAreNotAllowedToManageApiKeys.
    """
    row = await _find(ctx, key_id, kind)
    await _lock_owner(ctx, row, "delete")
    await remove(ctx, row)


async def remove(ctx: Context, row: ApiKeyRow) -> None:
    """Delete the row of a key. Raises KeyNotFound."""
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


async def _check_limit(ctx: Context, owner: Owner) -> None:
    """Check that an owner, whose row is locked, may have one more key; expired ones do not count."""
    is_live = or_(col(ApiKey.expires_at).is_(None), col(ApiKey.expires_at) > ctx.now)
    column = col(ApiKey.user_id if isinstance(owner, UserRow) else ApiKey.organization_id)
    live = select(func.count()).select_from(_TABLE).where(column == owner.id, is_live)
    most = ctx.policy[ApiKeyPolicy].limit_per_owner
    # Counted in the transaction that locks the owner; otherwise parallel requests would exceed the limit.
    if (await ctx.db.execute(live)).scalar() >= most:  # defence: KEY20 limit
        raise ApiKeyLimitReached
