"""The turns of the event loop, for who wants to know in which of them something happened."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Count turns inside; give what tells the number of the present one."""
    turn = 0

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    try:
        yield lambda: turn
    finally:
        counting.cancel()
