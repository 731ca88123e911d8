"""Threads for hashing: a bounded queue, and a lower priority than the event loop."""

import asyncio
import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from domain.errors import Overloaded

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MAX_PREPARING = 16
"""Who may prepare what they want hashed in one turn of the event loop: to look them up and to refuse them takes some
300 µs each, and everybody else waits for the end of the turn."""

BATCH_SIZE = 4
"""Jobs that a thread is given at a time at the most, while twice as many wait for it. A hash sweeps the processor's
caches, and the event loop takes twice as long for what it does just after one: so it does that for several."""


class PoolState(NamedTuple):
    """How much a pool has to do: threads, those of them that hash, jobs that wait, and jobs refused so far."""

    size: int
    busy: int
    waiting: int
    refused: int


@dataclass(slots=True, eq=False)
class _Task:
    """A job that waits for a thread or runs in one."""

    run: Callable[[], Any]
    future: "asyncio.Future[Any]"
    """The result that the caller waits for; the caller may be cancelled."""
    is_begun: bool = False
    """Whether a thread has it."""


class _Completed(NamedTuple):
    """A job that a thread has finished."""

    future: "asyncio.Future[Any]"
    set_outcome: Callable[[], None]
    """Sets the result or the exception of the future."""


class BoundedExecutor:
    """Runs jobs in threads, a bounded amount at a time."""

    def __init__(self, size: int, *, queue: int, wait: float, nice: int) -> None:
        """Start no thread yet. `queue` jobs may wait for `wait` seconds; `nice` is added to the threads' niceness."""
        self._size = size
        self._queue = queue
        self._wait = wait
        self._busy = 0
        self._waiting: deque[_Task] = deque()
        self._refused = 0
        self._admission = asyncio.Semaphore(MAX_PREPARING)
        self._executor = ThreadPoolExecutor(size, "hashing", initializer=lower_priority, initargs=(nice,))

    @contextlib.asynccontextmanager
    async def admission(self) -> AsyncIterator[None]:
        """Admit a few callers at a time, first come first served, to prepare what they will hash. Raises Overloaded.

        A crowd would otherwise be looked up, and refused, in one turn of the event loop, and be back in the next.
        """
        await self._wait_for_admission()
        try:
            await asyncio.sleep(0)
            if self._is_full:
                raise self._refusal()
            yield
        finally:
            self._admission.release()

    def state(self) -> PoolState:
        """Return how much there is to do now."""
        return PoolState(self._size, self._busy, len(self._waiting), self._refused)

    def close(self) -> None:
        """Finish what is being hashed and stop the threads; whoever still waits for one gets none."""
        self._size = 0
        self._executor.shutdown(wait=True)

    async def run(
        self, job: Callable[Arguments, Result], *arguments: Arguments.args, **_: Arguments.kwargs
    ) -> Result:
        """Run a job in a thread as soon as one is free; a caller who leaves earlier takes the job along."""
        if self._is_full:
            raise self._refusal()
        loop = asyncio.get_running_loop()
        queued = _Task(partial(job, *arguments), loop.create_future())
        self._waiting.append(queued)
        self._dispatch()
        timeout = loop.call_later(self._wait, self._give_up, queued)
        try:
            result: Result = await queued.future
            return result
        finally:
            timeout.cancel()
            if not queued.is_begun:
                self._waiting.remove(queued)

    @property
    def _is_full(self) -> bool:
        """Return whether nobody more may wait for a thread."""
        return self._busy >= self._size and len(self._waiting) >= self._queue  # defence: V72 R42 queue-bound

    def _dispatch(self) -> None:
        """Hand waiting jobs to idle threads, to each at most half of its share."""
        while self._waiting and self._busy < self._size:
            portion = max(1, min(BATCH_SIZE, len(self._waiting) // (2 * self._size)))
            jobs = [self._waiting.popleft() for _ in range(portion)]
            for job in jobs:
                job.is_begun = True
            self._busy += 1
            self._executor.submit(_run_batch, jobs, self._end)  # defence: V72 executor

    def _end(self, ended: Sequence[_Completed]) -> None:
        self._busy -= 1
        self._dispatch()
        for future, set_outcome in ended:
            if not future.done():
                set_outcome()

    def _give_up(self, job: _Task) -> None:
        if not job.is_begun and not job.future.done():
            job.future.set_exception(self._refusal())

    async def _wait_for_admission(self) -> None:
        """Wait for admission. Raises Overloaded.

        What is prepared may wait for a database that hangs: nobody else waits here for longer than for a thread.
        """
        if not self._admission.locked():
            await self._admission.acquire()
            return
        try:
            async with asyncio.timeout(self._wait):
                await self._admission.acquire()
        except TimeoutError:
            raise self._refusal() from None

    def _refusal(self) -> Overloaded:
        self._refused += 1
        return Overloaded()


def lower_priority(nice: int) -> None:
    """Let this thread's work wait where the event loop wants the same processor: everybody waits for that.

    On Linux alone niceness is a thread's own. It says who goes first, not how much there is: a processor that nobody
    else wants hashes as fast as ever.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)


def _run_batch(jobs: Sequence[_Task], done: Callable[[Sequence[_Completed]], None]) -> None:
    """Run jobs in a thread, but for those nobody waits for any more; then have the event loop told what came of them.

    Python's way from a future of the thread's to one of the event loop's takes twice as long.
    """
    ended = [_run(job) for job in jobs if not job.future.done()]
    jobs[0].future.get_loop().call_soon_threadsafe(done, ended)


def _run(job: _Task) -> _Completed:
    try:
        return _Completed(job.future, partial(job.future.set_result, job.run()))
    except BaseException as fault:
        return _Completed(job.future, partial(job.future.set_exception, fault))
