"""The base class of queues of rows that are processed after the commit that stored them, such as emails."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import structlog

from domain.context import Context, Runner
from domain.errors import Unavailable

Result = TypeVar("Result")
Pause = Callable[[float], Awaitable[None]]

RECORD_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait after each failed attempt to record an outcome."""

log = structlog.get_logger(__name__)


class Queue(ABC):
    """A queue of rows with its own slots, so that a slow receiver does not delay the rows of other queues.

    `kind` is the kind of rows whose commit wakes it; None for a queue that is only polled. At most `slots` rows are
    processed at the same time.
    """

    def __init__(self, kind: str | None, slots: int) -> None:
        self.kind = kind
        self.slots = slots
        self.woken = asyncio.Event()
        self.running: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def next_due(self) -> datetime | None:
        """Return the time at which the next row is due; None if there is none."""

    @abstractmethod
    async def claim(self, free: int) -> Sequence[Any]:
        """Claim up to `free` due rows; no other instance can claim them until their lease expires."""

    @abstractmethod
    async def process(self, row: Any) -> None:
        """Process a claimed row, and record the outcome. It is called outside any transaction."""

    def start(self, row: Any) -> None:
        """Process a row in a new task. Its end wakes the queue, so that the worker claims the next row."""
        task = asyncio.create_task(self.process(row))
        self.running.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        self.woken.set()

    async def wait(self, seconds: float) -> None:
        """Wait until the queue is woken, at most this number of seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()


async def record_outcome(
    run: Runner, job: Callable[[Context], Awaitable[Result]], pause: Pause = asyncio.sleep
) -> Result | None:
    """Run `job`, which records the outcome of a row, with several attempts; return its result.

    Return None if all attempts failed. The row is then processed again when its lease has expired.
    """
    for seconds in RECORD_PAUSES:
        try:
            return await run(job)
        except Exception as error:
            report(error, seconds=seconds)
            await pause(seconds)
    return None


def report(error: Exception, **details: str | float) -> None:
    """Log an error of the worker, with a traceback unless the database is unavailable."""
    log.warning(
        "outbox.error", error=type(error).__name__, exc_info=not isinstance(error, Unavailable), **details
    )
