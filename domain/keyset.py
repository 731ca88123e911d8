"""Keyset pagination of lists by time: a page begins at the position of a row, not at an offset, so that no rows are
counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, literal, tuple_

from models.base import Instant

Row = TypeVar("Row")


class Position(NamedTuple):
    """The time and the id of a row, by which its list is sorted."""

    time: datetime
    id: str


class Ends(NamedTuple):
    """The positions of the first and the last row of a page; None on a side that has no further page."""

    first: Position | None
    """The position of the first row, if rows precede it."""
    last: Position | None
    """The position of the last row, if rows follow it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins: next to the row at `position`, or at the first row of the list if that is None."""

    position: Position | None
    is_older: bool = True
    """Whether the page has the rows older than `position`; otherwise it has the newer ones."""
    newest_first: bool = True
    """Whether the list begins with the newest row; otherwise it begins with the oldest."""

    def order(self, *columns: Any) -> Sequence[Any]:
        """Return the ORDER BY terms for columns that end with time and id; the row nearest to the position is first."""
        return [column.desc() if self.is_older else column.asc() for column in columns]

    def times(
        self, since: datetime | None, until: datetime | None
    ) -> tuple[datetime | None, datetime | None]:
        """Return the times from which and until which rows on this side of the position can be, of those given."""
        if self.position is None:
            return since, until
        moment = self.position.time
        if self.is_older:
            return since, moment if until is None else min(until, moment)
        return moment if since is None else max(since, moment), until

    def conditions(self, time: Any, id_: Any) -> Sequence[ColumnElement[bool]]:
        """Return the WHERE conditions, for these columns of time and id, of the rows on this side of the position."""
        if self.position is None:
            return ()
        moment, last = literal(self.position.time, Instant), literal(self.position.id)
        # The first comparison is the end of the range in the index.
        if self.is_older:
            return time <= moment, tuple_(time, id_) < tuple_(moment, last)
        return time >= moment, tuple_(time, id_) > tuple_(moment, last)

    def page(
        self, found: Sequence[Row], limit: int, position_of: Callable[[Row], Position]
    ) -> tuple[Sequence[Row], Ends]:
        """Return the rows of the page in the order of the list, and its ends.

        `found` are the rows that a query with `conditions`, `order` and a limit of `limit` + 1 has returned.
        """
        has_more, rows = len(found) > limit, list(found[:limit])
        if not rows:
            return (), Ends(None, None)
        is_forward = self.is_older == self.newest_first
        if not is_forward:
            rows.reverse()
        first, last = position_of(rows[0]), position_of(rows[-1])
        if is_forward:
            return rows, Ends(first if self.position is not None else None, last if has_more else None)
        return rows, Ends(first if has_more else None, last)


def place(*, before: Position | None, after: Position | None = None) -> Place:
    """Return the place of the page with the rows older than `before`, or with those newer than `after`, newest first.

    At most one is given; without either, the page begins at the newest row.
    """
    return Place(before or after, is_older=after is None)
