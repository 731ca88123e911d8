"""Lists of the SCIM protocol: filters as SQL, pages by index and by cursor (RFC 7644, 3.4.2; RFC 9865)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.scim import totals
from domain.scim.errors import InvalidCursor, InvalidFilter, InvalidValue
from domain.scim.policy import ScimPolicy
from domain.scim.protocol import USERS, Condition, ScimProtocol
from domain.scim.request import ScimRequest
from models.scim_link import ScimLink
from models.scim_token import Directory
from models.statements import is_
from models.team import Team
from models.user import User

_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Page:
    """A requested page of a list: its filter, size and position."""

    endpoint: str
    conditions: Sequence[Condition]
    count: int
    start: int | None
    """The index of the first resource, from 1; None for a page by cursor."""
    after: str | None
    """The id of the last `ScimLink` of the previous page; None for the first page, and for a page by index."""

    @property
    def is_first(self) -> bool:
        """Whether this is the first page of a list without a filter."""
        return not self.conditions and self.after is None and self.start in (1, None)

    @property
    def looks_up(self) -> str | None:
        """The email address that the filter asks for with `eq`; None without such a condition."""
        for condition in self.conditions:
            is_address = condition.attribute in ("userName", "emails.value")
            if is_address and condition.operator == "eq" and isinstance(condition.value, str):
                return condition.value
        return None


def page_of(ctx: Context, request: ScimRequest, endpoint: str) -> Page:
    """Return the page that a request asks for. Raises InvalidFilter, InvalidValue, InvalidCursor."""
    query = request.query
    text = query.get("filter")
    conditions = ctx.port[ScimProtocol].conditions(endpoint, text) if text else ()
    most = ctx.policy[ScimPolicy].page_size
    count = min(max(_number(query, "count", most), 0), most)
    if "cursor" not in query:
        return Page(endpoint, conditions, count, max(_number(query, "startIndex", 1), 1), None)
    after = query["cursor"] or None
    if after is not None and not tokens.is_token(after):
        raise InvalidCursor
    return Page(endpoint, conditions, count, None, after)


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    """Return an integer of the query. Raises InvalidValue."""
    text = query.get(name)
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        raise InvalidValue(f"{name}: must be an integer")
    return int(text)


async def rows(
    ctx: Context, directory: Directory, page: Page, statement: Select[Any]
) -> tuple[Sequence[Any], int | None, str | None]:
    """Return the rows of a page, the total number of resources, and the cursor of the next page.

    `statement` selects all resources. The total is None for a page by cursor, and may be a minute old in a large
    directory. The cursor is None for a page by index, and for the last page.
    """
    for condition in page.conditions:
        statement = statement.where(_sql(page.endpoint, condition))
    named = {"connection_id": directory.connection.id}
    ordered = statement.order_by(col(ScimLink.id))
    if page.start is None:
        if page.after is not None:
            ordered = ordered.where(col(ScimLink.id) > page.after)
        found = list(await ctx.db.execute(ordered.limit(page.count + 1), **named))
        more = len(found) > page.count and page.count > 0
        return found[: page.count], None, found[page.count - 1].id if more else None
    # Without conditions the links alone are counted and skipped: each has its user or team.
    every = statement if page.conditions else _links(page.endpoint)
    ids = every.with_only_columns(col(ScimLink.id)).order_by(col(ScimLink.id))
    chosen = ids.limit(page.count).offset(page.start - 1).subquery()
    found = list(await ctx.db.execute(ordered.join(chosen, col(ScimLink.id) == chosen.c.id), **named))
    return found, await _total(ctx, directory, page, every, len(found)), None


async def _total(ctx: Context, directory: Directory, page: Page, every: Select[Any], read: int) -> int:
    """Return the number of resources; `read` is the number of those on this page.

    In a large directory without conditions it may be a minute old, except on the last page.
    """

    async def count(rows: Select[Any]) -> int:
        number = select(func.count()).select_from(rows.subquery())
        return int((await ctx.db.execute(number, connection_id=directory.connection.id)).scalar())

    if page.conditions:
        return await count(every)
    number = await count(every.limit(totals.COUNTED + 1))
    if number <= totals.COUNTED:
        return number
    cache, key = ctx.port[totals.TotalsCache], (directory.connection.id, page.endpoint)
    kept = cache.get(*key, ctx.now)
    # A page that is not full, or that reaches the stored number, is the last one.
    if kept is not None and read == page.count and (page.start or 1) - 1 + read < kept:
        return kept
    total = await count(every)
    cache.keep(*key, ctx.now, total)
    return total


def _links(endpoint: str) -> Select[Any]:
    """Return the statement that selects the links of a connection to its users or teams."""
    resource = col(ScimLink.user_id if endpoint == USERS else ScimLink.team_id)
    return select(col(ScimLink.id)).where(is_(ScimLink.connection_id, "connection_id"), resource.is_not(None))


def _sql(endpoint: str, condition: Condition) -> ColumnElement[bool]:
    """Return a condition for the database. Raises InvalidFilter for an attribute that the resource does not have."""
    columns = _USER_COLUMNS if endpoint == USERS else _GROUP_COLUMNS
    column = columns.get(condition.attribute)
    if column is None:
        raise InvalidFilter(f"{condition.attribute} cannot be searched here")
    value = condition.value
    if isinstance(value, str) and condition.attribute in _CASE_INSENSITIVE:
        value = value.lower()
        column = column if condition.attribute in _LOWER else func.lower(column)
    operators = _EXACT if condition.attribute in _CASE_EXACT else _OPERATORS
    return operators[condition.operator](column, value)


_USER_COLUMNS: Mapping[str, Any] = {
    "userName": col(User.email),
    "emails.value": col(User.email),
    "externalId": col(ScimLink.external_id),
    "id": col(ScimLink.user_id),
    "active": col(ScimLink.active),
    "displayName": col(User.name),
    "meta.lastModified": col(ScimLink.updated_at),
}
_GROUP_COLUMNS: Mapping[str, Any] = {
    "externalId": col(ScimLink.external_id),
    "id": col(ScimLink.team_id),
    "displayName": col(Team.name),
    "meta.lastModified": col(ScimLink.updated_at),
}
_CASE_INSENSITIVE = frozenset({"userName", "emails.value", "displayName"})
_CASE_EXACT = frozenset({"externalId", "id"})
"""Attributes that RFC 7643, 3.1 declares `caseExact`."""
_LOWER = frozenset({"userName", "emails.value"})
"""Attributes whose columns are in lower case already."""

_OPERATORS: Mapping[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "eq": lambda column, value: column == value,
    "co": lambda column, value: column.contains(value, autoescape=True),
    "sw": lambda column, value: column.startswith(value, autoescape=True),
    "gt": lambda column, value: column > value,
    "ge": lambda column, value: column >= value,
    "lt": lambda column, value: column < value,
    "le": lambda column, value: column <= value,
    "pr": lambda column, value: column.is_not(None),
}
_EXACT: Mapping[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    **_OPERATORS,
    # LIKE ignores the case of ASCII letters on SQLite. These functions compare exactly on both databases.
    "co": lambda column, value: func.replace(column, value, "") != column,
    "sw": lambda column, value: func.substr(column, 1, len(value)) == value,
}
