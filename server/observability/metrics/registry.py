"""What one process counts while it serves, in plain Python: adding to it costs a request well under 2 microseconds."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.errors import Limited, Refusal
from models import AuditRecord
from server.observability.metrics.families import (
    AUDIT_EVENTS,
    BOUNDS,
    LIMITED,
    MAILS,
    PROVIDER_CALLS,
    REFUSALS,
    REQUEST_SECONDS,
    REQUESTS,
    Family,
    Sample,
)

NO_OPERATION = "none"
"""The label of all requests that no operation was found for: a path is whatever somebody sends."""


def _buckets() -> list[float]:
    return [0.0] * (len(BOUNDS) + 1)


@dataclass(slots=True)
class _Operation:
    """The answers of one operation: how many of each status, how many in each bucket of time, and the time in all."""

    statuses: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    buckets: list[float] = field(default_factory=_buckets)
    seconds: float = 0.0


class MetricsRegistry:
    """The counts of one process since it began. To be used on its event loop alone."""

    def __init__(self) -> None:
        self._operations: dict[str | None, _Operation] = {}
        self._counts: defaultdict[tuple[str, tuple[str, ...]], int] = defaultdict(int)

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Count an answer, by operationId; None where no operation was found. On the way of every request."""
        counts = self._operations.get(operation)
        if counts is None:
            counts = self._operations[operation] = _Operation()
        counts.statuses[status] += 1
        counts.buckets[bisect_left(BOUNDS, seconds)] += 1.0
        counts.seconds += seconds

    def refusal(self, refusal: Refusal) -> None:
        """Count a refusal."""
        self._count(REFUSALS, refusal.code)
        if isinstance(refusal, Limited):
            self._count(LIMITED, refusal.kind)

    def audited(self, records: Sequence[AuditRecord]) -> None:
        """Count what is put on record."""
        for record in records:
            self._count(AUDIT_EVENTS, record.event, record.outcome)

    def provider_call(self, provider_id: str, result: str) -> None:
        """Count a question to a provider: answered, refused, unavailable."""
        self._count(PROVIDER_CALLS, provider_id, result)

    def mail(self, template: str, result: str) -> None:
        """Count what became of a mail: sent, postponed, failed."""
        self._count(MAILS, template, result)

    def samples(self) -> list[Sample]:
        """Give all counts."""
        found = [Sample(family, labels, count) for (family, labels), count in self._counts.items()]
        for operation, counts in self._operations.items():
            name = operation or NO_OPERATION
            found.append(Sample(REQUEST_SECONDS.name, (name,), [*counts.buckets, counts.seconds]))
            found += [
                Sample(REQUESTS.name, (name, str(status)), count) for status, count in counts.statuses.items()
            ]
        return found

    def _count(self, family: Family, *labels: str) -> None:
        self._counts[family.name, labels] += 1
