"""List users for administrators: search, filter, sort, paginate."""

import operator
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, NoReturn

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    and_,
    bindparam,
    collate,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
)
from sqlmodel import col

from domain import identifiers
from domain.admin import events, permissions
from domain.admin.errors import SearchTooBroad, YouAreNotAllowedToListUsers
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.ports import SearchTimedOut
from domain.users import admins, roles
from models import Audit, User
from models.base import Instant
from models.statements import is_
from models.user import USER_COLUMNS, UserRow


class UserQuery(NamedTuple):
    """The page of users to list. Fields have the names of their columns, operators the names in the contract."""

    search: str | None
    search_field: str
    search_operator: str
    filter_field: str
    filter_operator: str
    filter_values: Sequence[str] | None
    """None without a filter."""
    sort_by: str
    descending: bool
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page of users, and how many match, at most `admin.count_limit`; `is_capped` says that there are more."""

    users: Sequence[UserRow]
    total: int
    is_capped: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition, and whether an index can find the rows."""

    clause: ColumnElement[bool]
    is_indexed: bool = False


_FLAGS = ("banned", "email_verified", "two_factor_enabled")
_TIMES = ("ban_expires", "created_at", "updated_at")
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
_PATTERNS = ("contains", "starts_with", "ends_with")
_LISTS = ("in", "not_in")
_SEARCH_RECORDED_EVERY = timedelta(minutes=1)
_LAST = "\U0010ffff"
"""The last character in sort order."""


async def list_users(ctx: Context, query: UserQuery) -> Page:
    """Return a page of users. Raises YouAreNotAllowedToListUsers, TwoFactorRequired, ValidationError,
    SearchTooBroad."""
    permissions.require(ctx, "user", "list", YouAreNotAllowedToListUsers)
    try:
        return await _page(ctx, query)
    except SearchTimedOut:
        raise SearchTooBroad from None


_LAST_SEARCH = (
    select(col(Audit.id))
    .where(
        is_(Audit.user_id, "searcher"),
        col(Audit.event) == events.USERS_SEARCHED.name,
        col(Audit.time) > bindparam("searched_since", type_=Instant()),
    )
    .limit(1)
    .scalar_subquery()
)
"""The record of a search by the user `searcher` after `searched_since`."""


def count_statement(where: ColumnElement[bool], limit: int) -> Executable:
    """Return the statement that counts users, up to a limit, and finds a recent record of a search by the caller.

    Counting millions of matches would read all of them.
    """
    some = select(literal(1).label("one")).select_from(User).where(where).limit(limit)
    return select(select(func.count()).select_from(some.subquery()).scalar_subquery(), _LAST_SEARCH)


def count_values(ctx: Context) -> Mapping[str, Any]:
    """Return the parameters of `count_statement`: the caller, and the time a minute ago."""
    return {"searcher": ctx.signed_in.user.id, "searched_since": ctx.now - _SEARCH_RECORDED_EVERY}


def record_search(ctx: Context, last: str | None) -> None:
    """Record that the caller searches users, at most once a minute.

    `last` is the id of a record from the last minute, as `count_statement` has found it; None if there is none.
    """
    # Each page of a list is a search: a record of each would bury the others.
    is_recorded = any(record.event == events.USERS_SEARCHED.name for record in ctx.records)
    if not is_recorded and last is None:  # defence: C7 once-a-minute
        events.users_searched(ctx)  # defence: C7 recorded


async def _page(ctx: Context, query: UserQuery) -> Page:
    policy = ctx.policy[AdminPolicy]
    conditions = [condition async for condition in _conditions(ctx, query)]
    where = and_(true(), *(condition.clause for condition in conditions))
    order = order_of(ctx.db.dialect, query.sort_by)
    by = [column.desc() if query.descending else column.asc() for column in (order, col(User.id))]
    page = select(*USER_COLUMNS).where(where).order_by(*by).limit(query.limit).offset(query.offset)
    statements = (page.execution_options(row=UserRow), count_statement(where, policy.count_limit + 1))
    is_scan = not all(condition.is_indexed for condition in conditions)
    users, [(total, last)] = await ctx.resources.database.search(
        statements, policy.scan_timeout, is_scan=is_scan, **count_values(ctx)
    )
    record_search(ctx, last)
    return Page(users, min(total, policy.count_limit), is_capped=total > policy.count_limit)


async def _conditions(ctx: Context, query: UserQuery) -> AsyncIterator[Condition]:
    if query.search is not None:
        yield pattern(ctx, query.search_field, query.search_operator, query.search)
    if query.filter_values is None:
        return
    name, comparison, values = query.filter_field, query.filter_operator, query.filter_values
    if len(values) > 1 and comparison not in _LISTS:
        _refuse("filterValue", "must not be given twice")
    if name == "role":
        yield await role_condition(ctx, comparison, values)
    elif name in _FLAGS:
        yield _flag(name, comparison, values[0])
    elif name in _TIMES:
        if comparison in _PATTERNS:
            _refuse("filterOperator", "cannot compare times")
        yield _compare(_column(name), comparison, [_time(value) for value in values], is_indexed=True)
    elif comparison in _PATTERNS:
        yield pattern(ctx, name, comparison, values[0])
    else:
        lowered = values if name == "id" else [value.lower() for value in values]
        yield _compare(_text(name), comparison, lowered, is_indexed=comparison in ("eq", "in"))


def _compare(column: Any, comparison: str, values: Sequence[Any], *, is_indexed: bool) -> Condition:
    """Return the condition that compares a column with values; NULL is unequal to every value."""
    if comparison in ("eq", "in"):
        return Condition(column.in_(values), is_indexed)
    if comparison in ("ne", "not_in"):
        return Condition(or_(column.is_(None), column.not_in(values)))
    return Condition(_ORDER[comparison](column, values[0]), is_indexed)


async def role_condition(ctx: Context, comparison: str, values: Sequence[str]) -> Condition:
    """Return the condition that users hold one of these roles (`eq`, `in`), or none of them (`ne`, `not_in`).

    Raises ValidationError for another comparison.
    """
    if comparison not in ("eq", "ne", *_LISTS):
        _refuse("filterOperator", "must be eq, ne, in or not_in for roles")
    [result] = await ctx.resources.database.search(
        [admins.ROLE_TEXTS], ctx.policy[AdminPolicy].scan_timeout, is_scan=False
    )
    texts = result.scalars()
    if len(texts) > admins.MOST_TEXTS:
        padded = literal(",").concat(col(User.role)).concat(",")
        holds = or_(*(padded.contains(f",{value},", autoescape=True) for value in values))
        return Condition(holds if comparison in ("eq", "in") else not_(holds))
    holding = [text for text in texts if set(values) & set(roles.split(text))]
    if comparison in ("eq", "in"):
        return Condition(col(User.role).in_(holding), is_indexed=True)
    return Condition(col(User.role).not_in(holding))


def _flag(name: str, comparison: str, value: str) -> Condition:
    if comparison not in ("eq", "ne"):
        _refuse("filterOperator", "must be eq or ne for truth values")
    if value.lower() not in ("true", "false"):
        _refuse("filterValue", "must be true or false")
    return flag_condition(name, is_set=(value.lower() == "true") == (comparison == "eq"))


def flag_condition(name: str, *, is_set: bool) -> Condition:
    """Return the condition that the boolean column `name` is true or, without `is_set`, false."""
    if name == "banned" and is_set:
        # A bare column: SQLite uses the partial index only if the condition has the form of the index's own.
        bare: Any = literal_column('"user".banned', Integer())
        return Condition(bare, is_indexed=True)
    return Condition(_column(name).is_(is_set))


def pattern(ctx: Context, name: str, comparison: str, value: str) -> Condition:
    """Return the condition that a text contains, starts with or ends with a value, as `comparison` says.

    `%`, `_` and `\\` in the value are literal.
    """
    lowered = value if name == "id" else value.lower()
    column = _text(name)
    if ctx.db.dialect == "sqlite" and name == "name" and lowered.isascii():
        # LIKE already ignores the case of ASCII letters. `lower` is a Python function here and four times as slow.
        column = col(User.name)
    if comparison == "contains":
        return Condition(column.contains(lowered, autoescape=True))
    if comparison == "ends_with":
        return Condition(column.endswith(lowered, autoescape=True))
    begins = column.startswith(lowered, autoescape=True)
    is_indexed = name in ("email", "name")
    if ctx.db.dialect == "sqlite" and is_indexed:
        # SQLite does not use an index for LIKE with ESCAPE, so the prefix is compared as a range.
        order = order_of(ctx.db.dialect, name)
        is_indexed = name == "email" or lowered.isascii()
        if is_indexed:
            begins = and_(begins, order >= lowered, order < lowered + _LAST)
    return Condition(begins, is_indexed)


def _text(name: str) -> Any:
    """Return the lower-case form of a text column, which comparisons use."""
    return func.lower(col(User.name)) if name == "name" else _column(name)


def _column(name: str) -> Any:
    return col(getattr(User, name))


def order_of(dialect: str, name: str) -> Any:
    """Return the expression by which users are sorted by the column `name`, in the form that its index has."""
    if name != "name":
        return _column(name)
    # The service replaces SQLite's `lower` with a Python function, which an index cannot contain.
    return collate(col(User.name), "NOCASE") if dialect == "sqlite" else func.lower(col(User.name))


def _time(value: str) -> datetime:
    moment = identifiers.instant_or_none(value)
    return _refuse("filterValue", "must be a time with a zone") if moment is None else moment


def _refuse(name: str, problem: str) -> NoReturn:
    raise ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
