"""Pages of lists that are sorted by a time and an id."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import Select, literal, tuple_
from sqlmodel import col

from domain.admin.errors import SearchTooBroad
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.ports import SearchTimedOut
from models.base import Instant

Row = TypeVar("Row")
Position = tuple[datetime, str]
"""The time and the id of a row of a list that is sorted by time."""


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
    time, id_ = col(getattr(listing.model, listing.time)), col(listing.model.id)
    statement, position = listing.statement, after or before
    # A page before a position is read backwards, beginning with the nearest row.
    goes_down = listing.descending != (before is not None)
    if position is not None:
        moment = literal(position[0], Instant)
        here, there = tuple_(time, id_), tuple_(moment, literal(position[1]))
        # The first comparison is the end of the range in the index.
        statement = (
            statement.where(time <= moment, here < there)
            if goes_down
            else statement.where(time >= moment, here > there)
        )
    order = (time.desc(), id_.desc()) if goes_down else (time.asc(), id_.asc())
    [found] = await search(ctx, statement.order_by(*order).limit(limit + 1), is_scan=is_scan)
    has_more, rows = len(found) > limit, list(found[:limit])
    if before is not None:
        rows.reverse()
    if not rows:
        return Page(())
    first, last = listing.position(rows[0]), listing.position(rows[-1])
    if before is not None:
        return Page(rows, first if has_more else None, last)
    return Page(rows, first if after is not None else None, last if has_more else None)


async def search(ctx: Context, statement: Select[Any], *, is_scan: bool) -> Sequence[Any]:
    """Return the rows of a statement that takes at most `admin.scan_timeout`. Raises SearchTooBroad."""
    try:
        return await ctx.resources.database.search(
            [statement], ctx.policy[AdminPolicy].scan_timeout, is_scan=is_scan
        )
    except SearchTimedOut:
        raise SearchTooBroad from None
