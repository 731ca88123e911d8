"""What this process remembers of large directories, so that a page by index costs the same wherever it is.

Of more than `COUNTED` resources, two things are kept for a minute. How many there are, which every page says (RFC 7644,
3.4.2): whoever reads a million users page by page would have them counted 5,000 times, for 0.2 s each. And where pages
ended: the next page begins there, instead of skipping all resources before it. It then misses none and repeats none,
though others were added or deleted in between.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

COUNTED = 10_000
KEPT_FOR = timedelta(seconds=60)
MOST_ENDS = 1_000
"""Ends of pages that are kept; the oldest is forgotten first."""


class Resources(NamedTuple):
    """The users or groups of a directory."""

    connection_id: str
    endpoint: str


@dataclass(slots=True)
class LargeDirectories:
    """Numbers of resources, and ends of pages, with the time of each."""

    totals: dict[Resources, tuple[int, datetime]] = field(default_factory=dict)
    ends: dict[tuple[Resources, int], tuple[str, datetime]] = field(default_factory=dict)
    """The id of the last link of a page, by its index."""

    async def total(self, resources: Resources, now: datetime, count: Callable[[], Awaitable[int]]) -> int:
        """Return the number of a minute at most ago; `count` counts if there is none."""
        kept = self.totals.get(resources)
        if kept is None or not _is_fresh(kept[1], now):
            kept = self.totals[resources] = (await count(), now)
        return kept[0]

    def end(self, resources: Resources, index: int, now: datetime) -> str | None:
        """Return the id of the last link of the page that ended at an index (from 1), if one did lately."""
        kept = self.ends.get((resources, index))
        return kept[0] if kept is not None and _is_fresh(kept[1], now) else None

    def set_end(self, resources: Resources, index: int, link_id: str, now: datetime) -> None:
        """Keep the id of the last link of a page."""
        self.ends.pop((resources, index), None)
        self.ends[resources, index] = (link_id, now)
        if len(self.ends) > MOST_ENDS:
            del self.ends[next(iter(self.ends))]


def _is_fresh(at: datetime, now: datetime) -> bool:
    return at <= now < at + KEPT_FOR
