"""What the threads that hash do beside it: they step back behind the event loop, and tell it what came of a job."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

Result = TypeVar("Result")


def step_back(nice: int) -> None:
    """Let this thread's work wait where the event loop wants the same processor: everybody waits for that.

    On Linux alone niceness is a thread's own. It says who goes first, not how much there is: a processor that nobody
    else wants hashes as fast as ever.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + nice)


def run_and_tell(
    job: Callable[..., Result],
    arguments: tuple[object, ...],
    answer: "asyncio.Future[Result]",
    ended: Callable[[], None],
) -> None:
    """Run a job in a thread, and have the event loop told that it has ended, and what came of it.

    Python's way from a future of the thread's to one of the event loop's takes twice as long.
    """
    try:
        tell = partial(answer.set_result, job(*arguments))
    except BaseException as fault:
        tell = partial(answer.set_exception, fault)
    answer.get_loop().call_soon_threadsafe(_end, answer, tell, ended)


def _end(answer: "asyncio.Future[Any]", tell: Callable[[], None], ended: Callable[[], None]) -> None:
    # A seat is free when its thread is, not when the caller has left: no queue forms in the executor.
    ended()
    if not answer.done():
        tell()
