"""Threads for hashing: a bounded queue, and a lower priority than the event loop."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, ParamSpec, TypeVar

from domain.errors import Overloaded

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MAX_PREPARING = 16
"""Callers that may prepare a hash in one iteration of the event loop: the look-up and refusal of one costs about
300 µs, and all other requests wait for the end of the iteration."""


class PoolState(NamedTuple):
    """The load of a pool: threads, busy threads, waiting jobs, and jobs refused so far."""

    size: int
    busy: int
    waiting: int
    refused: int


class BoundedExecutor:
    """A thread pool with a bounded queue."""

    def __init__(self, size: int, *, queue: int, wait: float, nice: int) -> None:
        """Create the pool; threads, at most `size`, are started when needed.

        At most `queue` jobs wait for a thread, each for at most `wait` seconds. `nice` is added to the threads'
        niceness.
        """
        self._size = size
        self._queue = queue
        self._wait = wait
        self._jobs: set[Future[Any]] = set()
        self._refused = 0
        self._admission = asyncio.Semaphore(MAX_PREPARING)
        self._executor = ThreadPoolExecutor(size, "hashing", initializer=lower_priority, initargs=(nice,))

    @contextlib.asynccontextmanager
    async def admission(self) -> AsyncIterator[None]:
        """Admit a few callers at a time, in order of arrival, to prepare a hash in the `async with` block.

        Without it, a burst of callers would block the event loop with database look-ups before the queue refuses them.
        Raises Overloaded if the queue is full, or after `wait` seconds, because a preparation may wait for a database
        that hangs.
        """
        try:
            async with asyncio.timeout(self._wait):
                await self._admission.acquire()
        except TimeoutError:
            raise self._refusal() from None
        try:
            # Callers are admitted in batches of MAX_PREPARING, with one iteration of the event loop between them.
            await asyncio.sleep(0)
            if self._is_full:
                raise self._refusal()
            yield
        finally:
            self._admission.release()

    def state(self) -> PoolState:
        """Return the current load."""
        busy = min(len(self._jobs), self._size)
        return PoolState(self._size, busy, len(self._jobs) - busy, self._refused)

    def close(self) -> None:
        """Finish running jobs and stop the threads; cancel queued jobs."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    async def run(
        self, job: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run a job in a thread and return its result; a job that has not begun is dropped if the caller is cancelled.

        Raises Overloaded if the queue is full, or if no thread has begun the job after the longest wait.
        """
        if self._is_full:
            raise self._refusal()
        work = self._executor.submit(job, *arguments, **named)  # defence: V72 executor
        self._jobs.add(work)
        work.add_done_callback(self._jobs.discard)
        result = asyncio.wrap_future(work)
        try:
            # Not `wait_for`, which would cancel a hash that a thread has begun and cannot stop.
            done, _pending = await asyncio.wait({result}, timeout=self._wait)
            if not done and work.cancel():  # It has not begun.
                raise self._refusal()
            return await result
        finally:
            work.cancel()  # Directly: cancelling `result` alone would reach the executor one iteration later.
            result.cancel()

    @property
    def _is_full(self) -> bool:
        """Return whether the queue is full."""
        return len(self._jobs) >= self._size + self._queue  # defence: V72 R42 queue-bound

    def _refusal(self) -> Overloaded:
        self._refused += 1
        return Overloaded()


def lower_priority(nice: int) -> None:
    """Add `nice` to the niceness of this thread, so that the event loop gets the processor first.

    Only Linux has a niceness per thread. On an idle processor, hashing is not slower.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)
