"""Gauges of one process, set every few seconds: pools, outbox, memory, CPU time."""

import asyncio
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getpagesize, getrusage

from domain.errors import Unavailable
from domain.mail import outbox
from server.clock import Clock
from server.components.component import Component, Core, PeriodicJob
from server.crypto.password_hasher import PasswordHasher
from server.database.database import Database
from server.observability.metrics.registry import MetricsRegistry

EVERY = 5.0
"""Seconds between two samples. A scrape cannot query several processes, because they only share files."""

DATABASE_TIMEOUT = 1.0
"""Timeout in seconds of the query that counts the queued rows of the outbox."""

_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Sampler:
    """Sets the gauges of a running service."""

    metrics: MetricsRegistry
    hasher: PasswordHasher
    database: Database
    clock: Clock

    async def sample(self) -> None:
        """Set all gauges to the current values. Those of the outbox are unchanged while the database is unavailable."""
        metrics = self.metrics
        *sizes, refused = self.hasher.state()
        for gauge, value in zip(metrics.hash_pool, sizes, strict=True):
            gauge.set(value)
        metrics.advance(metrics.hash_pool_refused, refused)
        pool = self.database.pool_state()
        for gauge, value in zip(metrics.database_pool, (pool.size, pool.used, pool.waiting), strict=True):
            gauge.set(value)
        metrics.database_commits_unanswered.set(pool.unanswered)
        metrics.advance(metrics.database_pool_timeouts, pool.timeouts)
        metrics.advance(metrics.database_read_only, pool.read_only)
        metrics.advance(metrics.database_away_seconds, pool.away)
        metrics.memory.set(resident_bytes())
        metrics.advance(metrics.cpu_seconds, time.process_time())
        metrics.workers.set(1)
        await self._sample_outbox()

    async def _sample_outbox(self) -> None:
        try:
            async with asyncio.timeout(DATABASE_TIMEOUT):
                waiting = await outbox.waiting(self.database.reads)
        except (Unavailable, TimeoutError):
            self.metrics.database_up.set(0)
            return
        self.metrics.database_up.set(1)
        for kind in waiting:
            self.metrics.outbox_waiting.labels(kind.state.value).set(kind.rows)
        since = min((kind.since for kind in waiting if kind.since is not None), default=None)
        self.metrics.outbox_oldest.set(max(0.0, (self.clock() - since).total_seconds()) if since else 0.0)


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; on a system without /proc, its maximum so far."""
    try:
        return int(_STATM.read_text("ascii").split()[1]) * getpagesize()
    except OSError:
        most = getrusage(RUSAGE_SELF).ru_maxrss
        # ru_maxrss is in bytes on macOS and in KiB on other systems.
        return most if platform.system() == "Darwin" else most * 1024


class Metrics(Component):
    """The component that sets the gauges of this process periodically, if metrics are enabled."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the job that sets the gauges; none if metrics are disabled."""
        core = self._core
        if core.metrics is not None:
            sampler = Sampler(core.metrics, core.hasher, core.database, core.clock)
            yield PeriodicJob("metrics", sampler.sample, EVERY)
