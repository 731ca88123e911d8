"""A cache of the number of resources in large directories.

Every page that a client requests by index states the total (RFC 7644, 3.4.2). Up to `COUNTED` resources are counted for
each page. A larger directory is counted only once a minute, because reading a million users page by page would
otherwise count them 5,000 times, for 0.2 s each. For the last page they are always counted, because clients stop at
the total.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

COUNTED = 10_000
KEPT_FOR = timedelta(seconds=60)


@dataclass(slots=True)
class TotalsCache:
    """The totals of large directories that this process has counted."""

    counted: dict[tuple[str, str], tuple[int, datetime]] = field(default_factory=dict)
    """The total and the time of counting, by the id of the connection and the endpoint."""

    def get(self, connection_id: str, endpoint: str, now: datetime) -> int | None:
        """Return the total of an endpoint if it was counted within the last minute, else None."""
        kept = self.counted.get((connection_id, endpoint))
        return kept[0] if kept is not None and kept[1] <= now < kept[1] + KEPT_FOR else None

    def keep(self, connection_id: str, endpoint: str, now: datetime, number: int) -> None:
        """Store the total of an endpoint that was counted at `now`."""
        self.counted[connection_id, endpoint] = (number, now)
