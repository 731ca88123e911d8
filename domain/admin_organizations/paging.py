"""Pages of lists that are sorted by a time and an id."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Select
from sqlmodel import col

from domain.admin.errors import SearchTooBroad
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.keyset import Place, Position
from domain.ports import SearchTimedOut

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """A page of rows. `previous` and `next` are the positions of its first and last row; None where the list ends."""

    rows: Sequence[Row]
    previous: Position | None = None
    next: Position | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """A list that is sorted by the column `time` and the id of `model`.

    `statement` selects its rows without order and limit, and `position` returns the position of a row.
    """

    statement: Select[Any]
    model: Any
    position: Callable[[Row], Position]
    descending: bool
    time: str = "created_at"


async def page_of(
    ctx: Context,
    listing: Listing[Row],
    *,
    after: Position | None,
    before: Position | None,
    limit: int,
    is_scan: bool,
) -> Page[Row]:
    """Return the first page of a list, the page that follows `after`, or the page that precedes `before`.

    Raises SearchTooBroad.
    """
    is_older = listing.descending == (before is None)
    where = Place(after or before, is_older=is_older, newest_first=listing.descending)
    time, id_ = col(getattr(listing.model, listing.time)), col(listing.model.id)
    statement = listing.statement.where(*where.conditions(time, id_)).order_by(*where.order(time, id_))
    [found] = await search(ctx, statement.limit(limit + 1), is_scan=is_scan)
    rows, ends = where.page(found, limit, listing.position)
    return Page(rows, ends.first, ends.last)


async def search(ctx: Context, statement: Select[Any], *, is_scan: bool) -> Sequence[Any]:
    """Return the rows of a statement that takes at most `admin.scan_timeout`. Raises SearchTooBroad."""
    try:
        return await ctx.resources.database.search(
            [statement], ctx.policy[AdminPolicy].scan_timeout, is_scan=is_scan
        )
    except SearchTimedOut:
        raise SearchTooBroad from None
