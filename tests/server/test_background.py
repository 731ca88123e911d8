"""Background tasks come round until they are stopped, whatever happens to a turn."""

import asyncio
from collections.abc import Iterator

import pytest

from domain.errors import Unavailable
from server.background import repeat

FAULTS = [None, Unavailable(), TimeoutError(), ValueError("a defect")]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_comes_round_until_it_is_stopped(fault: Exception | None) -> None:
    stop, turns = asyncio.Event(), iter((1, 2, 3))

    async def turn(left: Iterator[int] = turns) -> None:
        if next(left) == 3:
            stop.set()
        if fault is not None:
            raise fault

    await repeat("test", turn, every=0.001, stop=stop)

    assert list(turns) == []


async def test_a_stop_ends_the_wait() -> None:
    stop = asyncio.Event()

    async def turn() -> None:
        asyncio.get_running_loop().call_soon(stop.set)

    async with asyncio.timeout(10):
        await repeat("test", turn, every=3600, stop=stop)
