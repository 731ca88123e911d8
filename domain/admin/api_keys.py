"""List the API keys of all users and organizations, newest first, page by page.

An administrator of keys creates, changes and deletes the keys of others with the operations of their owners
(`domain/api_keys/keys.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, false, or_, select, true
from sqlmodel import col

from domain.admin import permissions
from domain.admin.errors import SearchTooBroad, YouAreNotAllowedToListApiKeys
from domain.admin.policy import AdminPolicy
from domain.api_keys import keys
from domain.api_keys.owners import Owner
from domain.context import Context
from domain.keyset import Position, place
from domain.ports import SearchTimedOut
from domain.users import roles
from models import User
from models.api_key import KEY_COLUMNS, ApiKey, ApiKeyRow
from models.organization import ORGANIZATION_COLUMNS, Organization, OrganizationRow
from models.user import USER_COLUMNS, UserRow

State = Literal["active", "disabled", "expired"]

_KEYS = select(*KEY_COLUMNS).execution_options(row=ApiKeyRow)
_USERS = select(*USER_COLUMNS).execution_options(row=UserRow)
_ORGANIZATIONS = select(*ORGANIZATION_COLUMNS).execution_options(row=OrganizationRow)
_LAST = "\U0010ffff"
"""The character after which no text is sorted."""


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """A filter for keys; None matches everything."""

    start: str | None = None
    """The first characters of the key, as far as they are stored for display."""
    owner: str | None = None
    """A user, by id, email address or username, or an organization, by id or slug."""
    kind: str | None = None
    state: State | None = None


class OwnedKey(NamedTuple):
    """A key and its owner."""

    key: ApiKeyRow
    owner: Owner


@dataclass(frozen=True, slots=True)
class KeyPage:
    """A page of keys, newest first. `last` is the position of its last row; None on the last page.

    A page may have fewer keys than its limit: keys of users with permissions that the caller lacks are left out.
    """

    keys: Sequence[OwnedKey]
    last: Position | None
    first: Position | None = None
    """The position of its first row; None on the first page."""


async def list_keys(
    ctx: Context,
    wanted: KeyFilter,
    *,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> KeyPage:
    """Return a page of the keys of all owners, newest first.

    The keys are those older than `before`, or those newer than `after`; at most one is given.

    Raises YouAreNotAllowedToListApiKeys, TwoFactorRequired, ApiKeyConfigurationNotFound, SearchTooBroad.
    """
    # defence: KEY25 list-keys
    permissions.require(ctx, "apiKey", "manage", YouAreNotAllowedToListApiKeys)
    if wanted.kind is not None:
        keys.kind_of(ctx, wanted.kind)
    conditions = [*_conditions(ctx, wanted)]
    if wanted.owner is not None:
        conditions.append(await _is_of(ctx, wanted.owner))
    where, time_and_id = place(before=before, after=after), (col(ApiKey.created_at), col(ApiKey.id))
    statement = (
        _KEYS.where(and_(true(), *conditions, *where.conditions(*time_and_id)))
        .order_by(*where.order(*time_and_id))
        .limit(limit + 1)
    )
    is_scan = wanted.owner is None and (wanted.kind, wanted.state) != (None, None)
    [found] = await _search(ctx, statement, is_scan=is_scan)
    page, ends = where.page(found, limit, lambda row: Position(row.created_at, row.id))
    if not page:
        return KeyPage((), None)
    shown = [one for one in await _owned(ctx, page) if _outranks(ctx, one.owner)]
    return KeyPage(shown, ends.last, ends.first)


async def _search(ctx: Context, *statements: Select[Any], is_scan: bool = False) -> Sequence[Sequence[Any]]:
    timeout = ctx.policy[AdminPolicy].scan_timeout
    try:
        return await ctx.resources.database.search(statements, timeout, is_scan=is_scan)
    except SearchTimedOut:
        raise SearchTooBroad from None


async def _is_of(ctx: Context, owner: str) -> ColumnElement[bool]:
    """Return the condition that keys belong to the user or organization with this identifier."""
    lowered = owner.lower()
    of_user = or_(col(User.id) == owner, col(User.email) == lowered, col(User.username) == lowered)
    of_organization = or_(col(Organization.id) == owner, col(Organization.slug) == lowered)
    users, organizations = await _search(ctx, _USERS.where(of_user), _ORGANIZATIONS.where(of_organization))
    columns = ((ApiKey.user_id, users), (ApiKey.organization_id, organizations))
    return or_(false(), *(col(column) == found[0].id for column, found in columns if found))


async def _owned(ctx: Context, rows: Sequence[ApiKeyRow]) -> Sequence[OwnedKey]:
    """Return keys with their owners, without those that were deleted meanwhile."""
    # Not joined: PostgreSQL locks tables in the order of a statement, and users have to be the first.
    users, organizations = await _search(
        ctx,
        _USERS.where(col(User.id).in_(sorted({row.user_id for row in rows if row.user_id}))),
        _ORGANIZATIONS.where(
            col(Organization.id).in_(sorted({row.organization_id for row in rows if row.organization_id}))
        ),
    )
    owners = {owner.id: owner for owner in (*users, *organizations)}
    return [OwnedKey(row, owners[row.owner_id]) for row in rows if row.owner_id in owners]


def _outranks(ctx: Context, owner: Owner) -> bool:
    if not isinstance(owner, UserRow):
        return True
    return roles.outranks(ctx.policy, ctx.signed_in.user, owner)  # defence: KEY21 listed-rank


def _conditions(ctx: Context, wanted: KeyFilter) -> Sequence[ColumnElement[bool]]:
    conditions: list[Any] = []
    if wanted.start is not None:
        conditions += _begins(ctx, wanted.start)
    if wanted.kind is not None:
        conditions.append(col(ApiKey.kind) == wanted.kind)
    if wanted.state == "disabled":
        conditions.append(~col(ApiKey.enabled))
    elif wanted.state == "expired":
        conditions.append(col(ApiKey.expires_at) <= ctx.now)
    elif wanted.state == "active":
        never = col(ApiKey.expires_at).is_(None)
        conditions += [col(ApiKey.enabled), or_(never, col(ApiKey.expires_at) > ctx.now)]
    return conditions


def _begins(ctx: Context, start: str) -> Sequence[ColumnElement[bool]]:
    column: Any = col(ApiKey.start)
    if ctx.db.dialect == "sqlite":
        # SQLite does not use an index for LIKE, and ignores case there.
        return column >= start, column < start + _LAST
    return (column.startswith(start, autoescape=True),)
