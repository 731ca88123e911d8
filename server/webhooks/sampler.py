"""Set the gauges about webhooks in the metrics, every few seconds."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from domain.errors import Unavailable
from domain.ports import Reads
from domain.webhooks import backlog
from server.clock import Clock
from server.observability.metrics.registry import MetricsRegistry

TIMEOUT = 1.0
"""Timeout in seconds of the queries."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """Sets the gauges about webhooks from the database."""

    metrics: MetricsRegistry
    reads: Reads
    clock: Clock

    async def sample(self) -> None:
        """Set all gauges. They keep their values while the database is unavailable."""
        try:
            async with asyncio.timeout(TIMEOUT):
                waiting = await backlog.backlog(self.reads)
                endpoints = await backlog.endpoints_by_state(self.reads)
        except (Unavailable, TimeoutError):
            return
        metrics = self.metrics
        metrics.webhook_pending.set(waiting.pending)
        metrics.webhook_oldest.set(self._seconds_since(waiting.since))
        metrics.webhook_overdue.set(self._seconds_since(waiting.due_since))
        for state, number in endpoints.items():
            metrics.webhook_endpoints.labels(state).set(number)

    def _seconds_since(self, moment: datetime | None) -> float:
        return 0.0 if moment is None else max(0.0, (self.clock() - moment).total_seconds())
