"""Lists of the members of an organization, filtered and sorted."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, literal, not_, or_, select
from sqlmodel import col

from domain import identifiers
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import access, memberships
from domain.organizations.errors import NoActiveOrganization, YouAreNotAMemberOfThisOrganization
from models.member import MEMBERS_WITH_USERS, Member, MemberWithUser
from models.statements import table_of

_ORDERED = ("lt", "lte", "gt", "gte")


class MemberFilter(NamedTuple):
    """A condition on a column of members."""

    column: str
    operator: str
    """`eq`, `ne`, `in`, `not_in`, `lt`, `lte`, `gt` or `gte`."""
    values: Sequence[str]


class MemberQuery(NamedTuple):
    """Which page of which members to list. `condition` None: no filter; `limit` and `offset` are numbers of members."""

    organization_id: str | None
    slug: str | None
    condition: MemberFilter | None
    sort_by: str
    """The name of the column of members by which they are sorted."""
    descending: bool
    limit: int
    offset: int


async def list_members(ctx: Context, query: MemberQuery) -> tuple[Sequence[MemberWithUser], int]:
    """Return a page of the members of an organization, and how many match in total.

    A caller who may not see the other members gets only themselves. Raises NoActiveOrganization,
    YouAreNotAMemberOfThisOrganization; ValidationError for an unsuitable filter.
    """
    conditions = [] if query.condition is None else [_condition(query.condition)]
    chosen = await access.named(ctx, query.organization_id, query.slug)
    if chosen is None:
        raise NoActiveOrganization
    own = await access.require_member(ctx, chosen, YouAreNotAMemberOfThisOrganization)
    if not memberships.sees_directory(ctx, own):
        return [await memberships.with_user(ctx, own)], 1
    conditions.append(col(Member.organization_id) == chosen)
    column = col(getattr(Member, query.sort_by))
    # The id fixes the order of equal values, so that pages do not overlap.
    order = (column.desc(), col(Member.id).desc()) if query.descending else (column, col(Member.id))
    page = MEMBERS_WITH_USERS.where(*conditions).order_by(*order).limit(query.limit).offset(query.offset)
    rows: Sequence[MemberWithUser] = await ctx.db.execute(page)
    total = select(func.count()).select_from(table_of(Member)).where(*conditions)
    return rows, int((await ctx.db.execute(total)).scalar())


def _condition(condition: MemberFilter) -> ColumnElement[bool]:
    column, operator, values = condition
    if operator not in {"in", "not_in"} and len(values) > 1:
        raise _invalid("filterValue", "must be given only once")
    if operator in _ORDERED and column != "created_at":
        raise _invalid("filterOperator", "is not possible for this field")
    compared = [_value(column, text) for text in values]
    if column == "role":
        held = or_(*(_holds(name) for name in compared))
        return not_(held) if operator in {"ne", "not_in"} else held
    target = col(getattr(Member, column))
    if operator in {"in", "not_in"}:
        return target.in_(compared) if operator == "in" else target.not_in(compared)
    one = compared[0]
    comparisons: dict[str, ColumnElement[bool]] = {
        "eq": target == one,
        "ne": target != one,
        "lt": target < one,
        "lte": target <= one,
        "gt": target > one,
        "gte": target >= one,
    }
    return and_(comparisons[operator])


def _holds(name: str) -> ColumnElement[bool]:
    """Return the condition that a role is one of those of the member; SQLite's LIKE would ignore its case."""
    held = literal(",") + col(Member.role) + ","
    return func.replace(held, f",{name},", "") != held


def _value(column: str, text: str) -> Any:
    if column != "created_at":
        return text
    moment = identifiers.instant_or_none(text)
    if moment is None:
        raise _invalid("filterValue", "must be a time such as 2026-03-09T08:15:30Z")
    return moment


def _invalid(name: str, problem: str) -> ValidationError:
    return ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
