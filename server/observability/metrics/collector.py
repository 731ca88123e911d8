"""The samples of one process: what it counted, and how it is at this moment."""

import asyncio
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from resource import RUSAGE_SELF, getpagesize, getrusage
from typing import Protocol

from domain.errors import Unavailable
from domain.mail import outbox
from domain.ports import Reads
from server.clock import Clock
from server.observability.metrics.families import (
    BUILD,
    CPU,
    DATABASE_UP,
    HASH_BUSY,
    HASH_REFUSED,
    HASH_SIZE,
    HASH_WAITING,
    MEMORY,
    OUTBOX_OLDEST,
    OUTBOX_WAITING,
    POOL_SIZE,
    POOL_TIMEOUTS,
    POOL_USED,
    POOL_WAITING,
    WORKERS,
    Family,
    Sample,
)
from server.observability.metrics.registry import MetricsRegistry

DATABASE_WITHIN = 1.0
"""Seconds the database has to tell what waits in the outbox."""

_STATM = Path("/proc/self/statm")
_VERSION = version("gatewright")


class HashPool(Protocol):
    """The threads that hash passwords."""

    def state(self) -> tuple[int, int, int, int]:
        """Return how many there are, how many are busy, how many hashes wait, and how many were refused."""


class Database(Protocol):
    """An open database."""

    @property
    def reads(self) -> Reads:
        """What finds the rows that wait in the outbox."""

    def pool_state(self) -> tuple[int, int, int, int]:
        """Return how many connections for transactions there may be, how many are in use, how many transactions wait
        for one, and how many got none in time."""


@dataclass(frozen=True, slots=True)
class Collector:
    """Takes the samples of a service; `opened` gives its database."""

    metrics: MetricsRegistry
    hasher: HashPool
    opened: Callable[[], Database]
    clock: Clock

    async def __call__(self) -> list[Sample]:
        """Give all samples. A database that is away is one of them, and hides what stands in it."""
        return [
            *self.metrics.samples(),
            *self._hashing(),
            *self._connections(),
            *await self._outbox(),
            _sample(WORKERS, 1),
            _sample(BUILD, 1, _VERSION),
            _sample(MEMORY, resident_bytes()),
            _sample(CPU, time.process_time()),
        ]

    def _hashing(self) -> Iterator[Sample]:
        values = self.hasher.state()
        for family, value in zip((HASH_SIZE, HASH_BUSY, HASH_WAITING, HASH_REFUSED), values, strict=True):
            yield _sample(family, value)

    def _connections(self) -> Iterator[Sample]:
        values = self.opened().pool_state()
        for family, value in zip((POOL_SIZE, POOL_USED, POOL_WAITING, POOL_TIMEOUTS), values, strict=True):
            yield _sample(family, value)

    async def _outbox(self) -> list[Sample]:
        try:
            async with asyncio.timeout(DATABASE_WITHIN):
                waiting = await outbox.waiting(self.opened().reads)
        except (Unavailable, TimeoutError):
            return [_sample(DATABASE_UP, 0)]
        since = min((kind.since for kind in waiting if kind.since is not None), default=None)
        age = 0.0 if since is None else max(0.0, (self.clock() - since).total_seconds())
        return [
            _sample(DATABASE_UP, 1),
            _sample(OUTBOX_OLDEST, age),
            *(_sample(OUTBOX_WAITING, kind.rows, kind.state.value) for kind in waiting),
        ]


def resident_bytes() -> int:
    """Give the memory of this process that is in RAM; where the system does not tell, the most it has been."""
    try:
        return int(_STATM.read_text("ascii").split()[1]) * getpagesize()
    except OSError:
        most = getrusage(RUSAGE_SELF).ru_maxrss
        return most if platform.system() == "Darwin" else most * 1024


def _sample(family: Family, value: float, *labels: str) -> Sample:
    return Sample(family.name, labels, value)
