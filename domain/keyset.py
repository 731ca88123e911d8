"""Keyset pagination of lists by time, newest first: a page lies next to a position, so that no row is counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, literal, tuple_

from models.base import Instant

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a row in a list."""

    time: datetime
    id: str


class Ends(NamedTuple):
    """The ends of a page, at which its neighbours begin; None where there is no further page."""

    first: Position | None
    """The position before which newer rows are."""
    last: Position | None
    """The position after which older rows are."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page lies: next to a position, or without one at the newest row."""

    position: Position | None
    is_older: bool = True
    """Whether the page has the rows that are older than the position."""

    def order(self, time: Any, id_: Any) -> Sequence[Any]:
        """Return the order in which rows are read, beginning with the nearest."""
        return (time.desc(), id_.desc()) if self.is_older else (time.asc(), id_.asc())

    def conditions(self, time: Any, id_: Any) -> Sequence[ColumnElement[bool]]:
        """Return the conditions of the rows on this side of the position."""
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
        """Return the rows of the page, newest first, and its ends.

        `found` are the nearest rows in the order of the place, one more than `limit` if there are more.
        """
        has_more, rows = len(found) > limit, list(found[:limit])
        if not rows:
            return (), Ends(None, None)
        if not self.is_older:
            rows.reverse()
        first, last = position_of(rows[0]), position_of(rows[-1])
        if self.is_older:
            return rows, Ends(first if self.position is not None else None, last if has_more else None)
        return rows, Ends(first if has_more else None, last)


def place(*, before: Position | None, after: Position | None = None) -> Place:
    """Return the place of a page: `before` is the position of a newer row, `after` that of an older one.

    At most one is given.
    """
    return Place(before or after, is_older=after is None)
