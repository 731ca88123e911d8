"""Natural batching: while one batch is under way further items gather, and the next batch is all of them.

It adds no delay: a batch begins with the first item.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextvars import Context
from typing import Generic, NamedTuple, TypeVar

from domain.errors import Unavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Pending(NamedTuple, Generic[Item, Answer]):
    """An item that waits for its answer."""

    item: Item
    answer: "asyncio.Future[Answer]"
    since: float
    """When (monotonic seconds) it came."""

    def succeed(self, answer: Answer) -> None:
        """Set the answer, unless the caller has left."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, fault: BaseException) -> None:
        """Set an error as the answer; a cancellation of the batch is reported as Unavailable."""
        if not self.answer.done():
            self.answer.set_exception(fault if isinstance(fault, Exception) else Unavailable())


class Batcher(ABC, Generic[Item, Answer]):
    """Items that wait, and one task that serves them in batches as long as there are any."""

    def __init__(self, largest: int) -> None:
        """Take the number of items of the largest batch."""
        self._largest = largest
        self._waiting: list[Pending[Item, Answer]] = []
        self._task: asyncio.Task[None] | None = None

    def submit(self, item: Item) -> "asyncio.Future[Answer]":
        """Return the future answer for an item."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append(Pending(item, answer, time.monotonic()))
        if self._task is None or self._task.done():
            # It serves many requests, and must end with none of them.
            self._task = loop.create_task(self._serve(), name=type(self).__name__, context=Context())
        return answer

    async def close(self) -> None:
        """Stop; callers that wait get Unavailable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        # A task that is cancelled before its first step has failed no item.
        self._fail_waiting()

    @abstractmethod
    async def _serve_batch(self) -> None:
        """Take items and answer them."""

    def _take(self) -> Sequence[Pending[Item, Answer]]:
        """Take the items of the next batch; those whose callers have left are dropped."""
        taken, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
        return [pending for pending in taken if not pending.answer.done()]

    async def _serve(self) -> None:
        try:
            while self._waiting:
                await self._serve_batch()
        finally:
            self._task = None
            self._fail_waiting()

    def _fail_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for pending in waiting:
            pending.fail(Unavailable())
