"""How many resources a directory has, which every page by index says (RFC 7644, 3.4.2).

Up to `COUNTED` are counted for each page. A larger directory is counted once a minute: whoever reads a million users
page by page would have them counted 5,000 times, for 0.2 s each.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

COUNTED = 10_000
KEPT_FOR = timedelta(seconds=60)


@dataclass(slots=True)
class TotalsCache:
    """How many resources this process has last counted in large directories."""

    counted: dict[tuple[str, str], tuple[int, datetime]] = field(default_factory=dict)
    """The number and the time by the id of the connection and the endpoint."""

    async def total(
        self, connection_id: str, endpoint: str, now: datetime, count: Callable[[], Awaitable[int]]
    ) -> int:
        """Return the number of a minute at most ago; `count` counts if there is none."""
        key = (connection_id, endpoint)
        kept = self.counted.get(key)
        if kept is None or not kept[1] <= now < kept[1] + KEPT_FOR:
            kept = self.counted[key] = (await count(), now)
        return kept[0]
