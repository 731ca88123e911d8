"""Work queues of the outbox worker: each processes a few rows concurrently."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from domain.mail.outbox import LeasedMail, QueueFilter


async def end_tasks(tasks: list[asyncio.Task[None]], grace: float) -> None:
    """Wait until the tasks have ended, and cancel those that take longer than `grace` seconds."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


class WorkQueue:
    """A queue of rows with its own slots, so that a slow mail server does not delay the rows of other queues.

    `work` processes a row.
    """

    def __init__(self, rows: QueueFilter, work: Callable[[LeasedMail], Coroutine[Any, Any, None]]) -> None:
        self.rows = rows
        self.work = work
        self.woken = asyncio.Event()
        self.running: set[asyncio.Task[None]] = set()

    def start(self, row: LeasedMail) -> None:
        """Start to process a row. The queue is woken at the end, so that the worker claims the next row."""
        task = asyncio.create_task(self.work(row))
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
