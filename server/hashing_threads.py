"""The threads that hash: a bounded amount waits for them, and they step back behind the event loop (behaviour 4.3)."""

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

ENTRANCE = 16
"""Who may prepare what they want hashed in one turn of the event loop: to look them up and to refuse them takes some
300 µs each, and everybody else waits for the end of the turn."""

TOGETHER = 4
"""Jobs that a thread is given at a time at the most, while twice as many wait for it. A hash sweeps the processor's
caches, and the event loop takes twice as long for what it does just after one: so it does that for several."""


class PoolState(NamedTuple):
    """How much a pool has to do: threads, those of them that hash, jobs that wait, and jobs refused so far."""

    size: int
    busy: int
    waiting: int
    refused: int


@dataclass(slots=True, eq=False)
class Job:
    """What somebody wants done in a thread."""

    run: Callable[[], Any]
    answer: "asyncio.Future[Any]"
    """What its caller waits for, who may leave."""
    is_begun: bool = False
    """Whether a thread has it."""


class Ended(NamedTuple):
    """A job that a thread has done with."""

    answer: "asyncio.Future[Any]"
    tell: Callable[[], None]
    """Gives the answer what came of it."""


class HashingThreads:
    """Runs jobs in threads, a bounded amount at a time."""

    def __init__(self, size: int, *, queue: int, wait: float, nice: int) -> None:
        """Start no thread yet. `queue` jobs may wait for one, for `wait` seconds; `nice` is how far they step back."""
        self._size = size
        self._queue = queue
        self._wait = wait
        self._busy = 0
        self._waiting: deque[Job] = deque()
        self._refused = 0
        self._entrance = asyncio.Semaphore(ENTRANCE)
        self._executor = ThreadPoolExecutor(size, "hashing", initializer=step_back, initargs=(nice,))

    @contextlib.asynccontextmanager
    async def entrance(self) -> AsyncIterator[None]:
        """Let in few at a time, in the order of coming, to prepare what they want hashed. Raises Overloaded.

        A crowd would otherwise be looked up, and refused, in one turn of the event loop, and be back in the next.
        """
        await self._enter()
        try:
            await asyncio.sleep(0)
            if self._is_full:
                raise self._refusal()
            yield
        finally:
            self._entrance.release()

    def state(self) -> PoolState:
        """Give how much there is to do now."""
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
        wanted = Job(partial(job, *arguments), loop.create_future())
        self._waiting.append(wanted)
        self._hand_out()
        patience = loop.call_later(self._wait, self._give_up, wanted)
        try:
            result: Result = await wanted.answer
            return result
        finally:
            patience.cancel()
            if not wanted.is_begun:
                self._waiting.remove(wanted)

    @property
    def _is_full(self) -> bool:
        """Whether nobody more may wait for a thread."""
        return self._busy >= self._size and len(self._waiting) >= self._queue

    def _hand_out(self) -> None:
        """Give threads that have nothing to do what waits, to each up to half of its share of that."""
        while self._waiting and self._busy < self._size:
            portion = max(1, min(TOGETHER, len(self._waiting) // (2 * self._size)))
            jobs = [self._waiting.popleft() for _ in range(portion)]
            for job in jobs:
                job.is_begun = True
            self._busy += 1
            self._executor.submit(run_and_tell, jobs, self._end)

    def _end(self, ended: Sequence[Ended]) -> None:
        self._busy -= 1
        self._hand_out()
        for answer, tell in ended:
            if not answer.done():
                tell()

    def _give_up(self, job: Job) -> None:
        if not job.is_begun and not job.answer.done():
            job.answer.set_exception(self._refusal())

    async def _enter(self) -> None:
        """Take a place at the entrance. Raises Overloaded.

        What is prepared may wait for a database that hangs: nobody else waits here for longer than for a thread.
        """
        if not self._entrance.locked():
            await self._entrance.acquire()
            return
        try:
            async with asyncio.timeout(self._wait):
                await self._entrance.acquire()
        except TimeoutError:
            raise self._refusal() from None

    def _refusal(self) -> Overloaded:
        self._refused += 1
        return Overloaded()


def step_back(nice: int) -> None:
    """Let this thread's work wait where the event loop wants the same processor: everybody waits for that.

    On Linux alone niceness is a thread's own. It says who goes first, not how much there is: a processor that nobody
    else wants hashes as fast as ever.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)


def run_and_tell(jobs: Sequence[Job], tell: Callable[[Sequence[Ended]], None]) -> None:
    """Run jobs in a thread, but for those nobody waits for any more; then have the event loop told what came of them.

    Python's way from a future of the thread's to one of the event loop's takes twice as long.
    """
    ended = [_run(job) for job in jobs if not job.answer.done()]
    jobs[0].answer.get_loop().call_soon_threadsafe(tell, ended)


def _run(job: Job) -> Ended:
    try:
        return Ended(job.answer, partial(job.answer.set_result, job.run()))
    except BaseException as fault:
        return Ended(job.answer, partial(job.answer.set_exception, fault))
