"""The lanes of the outbox worker: rows of one kind, of which a few are worked on side by side."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from domain.outbox import Claim, Kind


async def end(tasks: list[asyncio.Task[None]], grace: float) -> None:
    """Wait until the tasks have ended, and cancel those that take longer than `grace` seconds."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


class Lane:
    """One kind of rows with its own four places, so that a hanging server holds up no other kind."""

    def __init__(self, kind: Kind, work: Callable[[Claim], Coroutine[Any, Any, None]]) -> None:
        self.kind = kind
        self.work = work
        self.woken = asyncio.Event()
        self.running: set[asyncio.Task[None]] = set()

    def begin(self, row: Claim) -> None:
        """Work on a row beside the others; when it is done the lane looks for the next."""
        task = asyncio.create_task(self.work(row))
        self.running.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        self.woken.set()

    async def wait(self, seconds: float) -> None:
        """Wait until the lane is woken, or for so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()
