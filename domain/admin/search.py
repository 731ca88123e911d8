"""Search users for the console: one text in several fields, filters that all hold, pages by position."""

import base64
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    Executable,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    true,
    tuple_,
    union_all,
)
from sqlmodel import col

from domain import keyset
from domain.admin import exports, listing, permissions
from domain.admin.errors import SearchTooBroad, YouAreNotAllowedToListUsers
from domain.admin.exports import Export
from domain.admin.listing import Condition
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.ports import SearchTimedOut
from models import Account, User
from models.base import from_milliseconds, to_milliseconds
from models.user import USER_COLUMNS, UserRow

Match = Literal["id", "starts_with", "contains"]
SORTS = ("created", "email", "name")
"""What users can be sorted by: newest first, or a text from A to Z."""

_COLUMNS = {"created": "created_at", "email": "email", "name": "name"}
_ID = re.compile(r"[A-Za-z0-9]{32}", re.ASCII)


class Position(NamedTuple):
    """The position of a user in a sorted list: the sort order, the value that is sorted by, and the id."""

    sort: str
    value: datetime | str
    id: str


@dataclass(frozen=True, slots=True)
class UserSearch:
    """The users to find; every filter that is not None has to match."""

    text: str = ""
    match: Literal["starts_with", "contains"] | None = None
    """How the text is compared; None: the users that begin with it, or if there are none, those that contain it."""
    role: str | None = None
    banned: bool | None = None
    email_verified: bool | None = None
    two_factor_enabled: bool | None = None
    provider: str | None = None
    """The id of a provider, or `credential` for users with a password."""
    created_from: datetime | None = None
    created_before: datetime | None = None
    sort: str = "created"
    limit: int = 50
    after: Position | None = None
    before: Position | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A page of users."""

    users: Sequence[UserRow]
    total: int
    """How many match, at most `admin.count_limit`."""
    is_capped: bool
    """Whether more match than `total` says."""
    match: Match | None
    """How the text was compared; None without a text."""
    previous: Position | None
    """The position of the first user, before which the previous page ends; None on the first page."""
    next: Position | None
    """The position of the last user, after which the next page begins; None on the last page."""


def encode(position: Position) -> str:
    """Return a position as text for a URL."""
    value = position.value if isinstance(position.value, str) else to_milliseconds(position.value)
    written = json.dumps([position.sort, value, position.id], separators=(",", ":"))
    return base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")


def decode(text: str, sort: str) -> Position | None:
    """Return the position that a text from a URL contains; None if it is malformed, or from a list sorted otherwise."""
    try:
        written = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        name, value, user_id = written
        if name != sort or not _is_storable(user_id):
            return None
        if sort == "created":
            return Position(sort, from_milliseconds(value), user_id) if type(value) is int else None
        return Position(sort, value, user_id) if _is_storable(value) else None
    except (ValueError, TypeError, OverflowError):
        return None


def _is_storable(value: object) -> bool:
    """Return whether a value is text that a database accepts. Raises ValueError for half a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and bool(value.encode())


async def search_users(ctx: Context, wanted: UserSearch) -> Found:
    """Return a page of users. Raises YouAreNotAllowedToListUsers, TwoFactorRequired, SearchTooBroad."""
    permissions.require(ctx, "user", "list", YouAreNotAllowedToListUsers)
    try:
        for match in _matches(wanted):
            found = await _page(ctx, wanted, match)
            if found.users or wanted.after or wanted.before:
                break
    except SearchTimedOut:
        raise SearchTooBroad from None
    return found


async def export_users(ctx: Context, wanted: UserSearch) -> AsyncGenerator[Sequence[UserRow], None]:
    """Return an iterator over the pages of all users that match, newest first.

    The sort order, limit and position of the search are ignored.

    Raises YouAreNotAllowedToListUsers, TwoFactorRequired, SearchTooBroad, ExportInProgress.
    """
    # defence: ADM24 export-users
    permissions.require(ctx, "user", "list", YouAreNotAllowedToListUsers)
    return await Export(ctx, "users", _filters(wanted), ("user", "list"), _Reader(ctx, wanted).read).begin()


@dataclass(slots=True)
class _Reader:
    """Reads the users of an export, page by page; all pages compare the text in the same way."""

    ctx: Context
    wanted: UserSearch
    conditions: Sequence[Condition] = ()

    async def read(self, after: keyset.Position | None) -> exports.Page[UserRow]:
        """Return the users after a position, and the position of the last one if there are more."""
        if after is not None:
            return await self._newest(after)
        for match in _matches(self.wanted):
            self.conditions = [condition async for condition in _conditions(self.ctx, self.wanted, match)]
            users, last = await self._newest(None)
            if users:
                break
        return users, last

    async def _newest(self, after: keyset.Position | None) -> exports.Page[UserRow]:
        where = keyset.place(before=after)
        time_and_id = col(User.created_at), col(User.id)
        conditions = [condition.clause for condition in self.conditions]
        page = (
            select(*USER_COLUMNS)
            .where(and_(true(), *conditions, *where.conditions(*time_and_id)))
            .order_by(*where.order(*time_and_id))
            .limit(exports.PAGE + 1)
        )
        is_scan = not all(condition.is_indexed for condition in self.conditions)
        timeout = self.ctx.policy[AdminPolicy].scan_timeout
        [found] = await self.ctx.resources.database.search(
            [page.execution_options(row=UserRow)], timeout, is_scan=is_scan
        )
        users, ends = where.page(found, exports.PAGE, lambda user: keyset.Position(user.created_at, user.id))
        return users, ends.last


def _filters(wanted: UserSearch) -> dict[str, str]:
    """Return the filters of a search, by their names in the contract."""
    filters: dict[str, object] = {
        "search": wanted.text or None,
        "match": wanted.match,
        "role": wanted.role,
        "banned": wanted.banned,
        "emailVerified": wanted.email_verified,
        "twoFactorEnabled": wanted.two_factor_enabled,
        "provider": wanted.provider,
        "createdFrom": wanted.created_from,
        "createdBefore": wanted.created_before,
    }
    return {name: _text(value) for name, value in filters.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _matches(wanted: UserSearch) -> Sequence[Match | None]:
    """Return the ways to compare the text, which are tried in order until one finds a user."""
    if not wanted.text:
        return [None]
    if _ID.fullmatch(wanted.text):
        return ["id", "starts_with"]
    return [wanted.match] if wanted.match else ["starts_with", "contains"]


async def _page(ctx: Context, wanted: UserSearch, match: Match | None) -> Found:
    policy = ctx.policy[AdminPolicy]
    conditions = [condition async for condition in _conditions(ctx, wanted, match)]
    position = wanted.after or wanted.before
    values: dict[str, Any] = {} if position is None else {"value": position.value, "id": position.id}
    order = _Order(ctx.db.dialect, wanted.sort, wanted.after is not None, wanted.before is not None)
    limits = wanted.limit + 1, policy.count_limit + 1
    statements = _statements(order, conditions, *limits) if conditions else _every_user(order, *limits)
    rows, [(total, last)] = await ctx.resources.database.search(
        statements,
        policy.scan_timeout,
        is_scan=not all(condition.is_indexed for condition in conditions),
        **listing.count_values(ctx),
        **values,
    )
    listing.record_search(ctx, last)
    users, has_more = list(rows)[: wanted.limit], len(list(rows)) > wanted.limit
    backwards = wanted.before is not None
    if backwards:
        users.reverse()
    has_previous = has_more if backwards else wanted.after is not None
    has_next = backwards or has_more
    return Found(
        users,
        min(total, policy.count_limit),
        total > policy.count_limit,
        match,
        _position(wanted.sort, users[0]) if users and has_previous else None,
        _position(wanted.sort, users[-1]) if users and has_next else None,
    )


class _Order(NamedTuple):
    """The order of a list, and on which side of a position its page is."""

    dialect: str
    sort: str
    after: bool
    before: bool


def _statements(
    order: _Order, conditions: Sequence[Condition], limit: int, count_limit: int
) -> Sequence[Executable]:
    """Return the statements for a page, and for the number of users with the last search of the caller."""
    where = and_(true(), *(condition.clause for condition in conditions))
    page = _sorted(order).where(where).limit(limit).execution_options(row=UserRow)
    return page, listing.count_statement(where, count_limit)


@cache
def _every_user(order: _Order, limit: int, count_limit: int) -> Sequence[Executable]:
    """Return the statements without conditions, which would otherwise be compiled for each page."""
    return _statements(order, (), limit, count_limit)


def _sorted(order: _Order) -> Any:
    """Return the statement for one page, without its conditions; backwards for a page that ends before a position."""
    name = _COLUMNS[order.sort]
    sorted_by: Any = listing.order_of(order.dialect, name)
    own_id: Any = col(User.id)
    is_descending = (order.sort == "created") != order.before
    columns = [column.desc() if is_descending else column.asc() for column in (sorted_by, own_id)]
    statement = select(*USER_COLUMNS).order_by(*columns)
    if not (order.after or order.before):
        return statement
    value: Any = bindparam("value", type_=getattr(User, name).type)
    # PostgreSQL sorts by `lower(name)`, so that the position has to be lowered as well. The collation of SQLite ignores
    # the case of both sides.
    if order.sort == "name" and order.dialect != "sqlite":
        value = func.lower(value)
    here, there = tuple_(sorted_by, own_id), tuple_(value, bindparam("id", type_=own_id.type))
    return statement.where(here < there if is_descending else here > there)


async def _conditions(ctx: Context, wanted: UserSearch, match: Match | None) -> AsyncIterator[Condition]:
    if match == "id":
        yield Condition(col(User.id) == wanted.text, is_indexed=True)
    elif match is not None:
        yield await _text_condition(ctx, wanted.text, match)
    if wanted.role is not None:
        yield await listing.role_condition(ctx, "eq", [wanted.role])
    for name in ("banned", "email_verified", "two_factor_enabled"):
        if (value := getattr(wanted, name)) is not None:
            condition = listing.flag_condition(name, is_set=value)
            yield _driving(ctx, [condition]) if condition.is_indexed else condition
    if wanted.provider is not None:
        accounts = select(col(Account.id)).where(
            col(Account.user_id) == col(User.id), col(Account.provider_id) == wanted.provider
        )
        yield Condition(exists(accounts))
    if wanted.created_from is not None:
        yield Condition(col(User.created_at) >= wanted.created_from, is_indexed=True)
    if wanted.created_before is not None:
        yield Condition(col(User.created_at) < wanted.created_before, is_indexed=True)


async def _text_condition(ctx: Context, text: str, match: Match) -> Condition:
    """Compare a text with email addresses and names; usernames, which have no index for their parts, as a whole."""
    parts = [listing.pattern(ctx, name, match, text) for name in ("email", "name")]
    parts.append(Condition(col(User.username) == text.lower(), is_indexed=True))
    either = Condition(or_(*(part.clause for part in parts)), all(part.is_indexed for part in parts))
    return _driving(ctx, parts) if await _is_narrow(ctx, parts) else either


async def _is_narrow(ctx: Context, parts: Sequence[Condition]) -> bool:
    """Return whether SQLite should read all users that meet a condition, instead of all in the order of the list.

    It has no statistics to decide that itself; PostgreSQL has.
    """
    if ctx.db.dialect != "sqlite" or not all(part.is_indexed for part in parts):
        return False
    policy = ctx.policy[AdminPolicy]
    some = _ids(parts).limit(policy.count_limit + 1).subquery()
    [counted] = await ctx.resources.database.search(
        [select(func.count()).select_from(some)], policy.scan_timeout, is_scan=False
    )
    return bool(counted.scalar() <= policy.count_limit)


def _driving(ctx: Context, parts: Sequence[Condition]) -> Condition:
    """Return the condition that one of these holds, in a form for which SQLite begins with the indexes of all."""
    if ctx.db.dialect != "sqlite":
        return Condition(or_(*(part.clause for part in parts)), is_indexed=True)
    return Condition(col(User.id).in_(_ids(parts)), is_indexed=True)


def _ids(parts: Sequence[Condition]) -> Any:
    return union_all(*(select(col(User.id)).where(part.clause) for part in parts))


def _position(sort: str, user: UserRow) -> Position:
    return Position(sort, getattr(user, _COLUMNS[sort]), user.id)
