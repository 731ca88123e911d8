"""The outbox worker: processes queued rows in the background, and is woken by the commits that queue them."""

import asyncio
from collections.abc import Sequence, Set

from server.clock import Clock
from server.outbox.queue import Queue, report

LONGEST_WAIT = 60.0
"""Seconds between two polls for rows that another instance queued but did not process."""
SHORT_WAIT = 0.1
"""Seconds before the next query if another instance has claimed the rows."""
LONGEST_PAUSE = 30.0
"""Longest pause in seconds between two queries while the database is unavailable; the first pause is one second."""


class OutboxWorker:
    """Claims due rows of all queues and starts to process them."""

    def __init__(self, queues: Sequence[Queue], clock: Clock) -> None:
        self._queues = queues
        self._clock = clock
        self._stopping = False
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start to process rows, beginning with those left by an earlier run."""
        self._stopping = False
        self._loops = [asyncio.create_task(self._serve(queue)) for queue in self._queues]

    def wake(self, kinds: Set[str]) -> None:
        """Wake the queues of these kinds after a commit that queued rows."""
        for queue in self._queues:
            if queue.kind in kinds:
                queue.woken.set()

    async def stop(self, grace: float = 5.0) -> None:
        """Claim no more rows, and wait until the running ones are processed.

        Those that take longer than `grace` seconds are cancelled. They are processed again once their lease expires.
        """
        self._stopping = True
        for queue in self._queues:
            queue.woken.set()
        await _end(self._loops, grace)
        await _end([task for queue in self._queues for task in queue.running], grace)
        self._loops = []

    async def drain(self) -> None:
        """Process all due rows, and the rows that these create, then return. The worker must not be started."""
        while any(await asyncio.gather(*(self._drain(queue) for queue in self._queues))):
            pass

    async def _drain(self, queue: Queue) -> bool:
        worked = False
        # This query costs a tenth of a claim, and most queues are empty most of the time.
        while await self._seconds_until_due(queue) <= 0 and await self._claim(queue):
            worked = True
            await asyncio.gather(*queue.running)
        return worked

    async def _serve(self, queue: Queue) -> None:
        failures = 0
        while not self._stopping:
            queue.woken.clear()
            try:
                seconds = await self._start_due_rows(queue)
                failures = 0
            except Exception as error:
                seconds = min(2.0**failures, LONGEST_PAUSE)
                # Bounded, because 2.0**1024 is an OverflowError.
                failures = min(failures + 1, 10)
                report(error, seconds=seconds)
            await queue.wait(seconds)

    async def _start_due_rows(self, queue: Queue) -> float:
        """Start due rows; return the seconds until the next query, unless the queue is woken before."""
        if len(queue.running) == queue.slots:
            return LONGEST_WAIT
        seconds = await self._seconds_until_due(queue)
        if seconds > 0:
            return min(seconds, LONGEST_WAIT)
        return 0.0 if await self._claim(queue) else SHORT_WAIT

    async def _seconds_until_due(self, queue: Queue) -> float:
        """Return the seconds until the first row is due: 0 or less if one is due, LONGEST_WAIT if there is none."""
        due = await queue.next_due()
        return LONGEST_WAIT if due is None else (due - self._clock()).total_seconds()

    async def _claim(self, queue: Queue) -> int:
        """Claim due rows for the free slots and start them; return their number."""
        rows = await queue.claim(queue.slots - len(queue.running))
        for row in rows:
            queue.start(row)
        return len(rows)


async def _end(tasks: list[asyncio.Task[None]], grace: float) -> None:
    """Wait until the tasks have ended, and cancel those that take longer than `grace` seconds."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=grace)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
