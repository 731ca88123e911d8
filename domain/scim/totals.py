"""How many resources a directory has, which every page by index says (RFC 7644, 3.4.2).

Up to `COUNTED` are counted for each page. A larger directory is counted once a minute: whoever reads a million users
page by page would have them counted 5,000 times, for 0.2 s each. The last page is always counted, because it says
where a client stops.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

COUNTED = 10_000
KEPT_FOR = timedelta(seconds=60)


@dataclass(slots=True)
class TotalsCache:
    """How many resources this process has last counted in large directories."""

    counted: dict[tuple[str, str], tuple[int, datetime]] = field(default_factory=dict)
    """The number and the time by the id of the connection and the endpoint."""

    def get(self, connection_id: str, endpoint: str, now: datetime) -> int | None:
        """Return the number if it was counted within the last minute, else None."""
        kept = self.counted.get((connection_id, endpoint))
        return kept[0] if kept is not None and kept[1] <= now < kept[1] + KEPT_FOR else None

    def keep(self, connection_id: str, endpoint: str, now: datetime, number: int) -> None:
        """Store a number that was counted at `now`."""
        self.counted[connection_id, endpoint] = (number, now)
