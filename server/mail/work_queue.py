"""The work queues of the outbox worker: rows of one kind, of which a few are processed concurrently."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from domain.mail.outbox import LeasedMail, QueueFilter


async def end(tasks: list[asyncio.Task[None]], grace: float) -> None:
    """Wait until the tasks have ended, and cancel those that take longer than `grace` seconds."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


class WorkQueue:
    """Rows of one kind with their own four slots, so that a hanging server does not hold up other kinds."""

    def __init__(self, kind: QueueFilter, work: Callable[[LeasedMail], Coroutine[Any, Any, None]]) -> None:
        self.kind = kind
        self.work = work
        self.woken = asyncio.Event()
        self.running: set[asyncio.Task[None]] = set()

    def begin(self, row: LeasedMail) -> None:
        """Start to process a row; when it is done the queue is woken to look for the next."""
        task = asyncio.create_task(self.work(row))
        self.running.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        self.woken.set()

    async def wait(self, seconds: float) -> None:
        """Wait until the queue is woken, for at most so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()
