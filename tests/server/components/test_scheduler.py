"""Background tasks come round until they are stopped, whatever happens to a turn, and one instance does them."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from domain.errors import Unavailable
from server.components.scheduler import run_periodically, take_lease
from server.database.database import Database
from tests.rows import NOW
from tests.server.conftest import OpenDatabase

FAULTS = [None, Unavailable(), TimeoutError(), ValueError("a defect")]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
async def test_comes_round_until_it_is_stopped(fault: Exception | None) -> None:
    stop, turns = asyncio.Event(), iter((1, 2, 3))

    async def turn(left: Iterator[int] = turns) -> None:
        if next(left) == 3:
            stop.set()
        if fault is not None:
            raise fault

    await run_periodically("test", turn, every=0.001, stop=stop)

    assert list(turns) == []


async def test_a_stop_ends_the_wait() -> None:
    stop = asyncio.Event()

    async def turn() -> None:
        asyncio.get_running_loop().call_soon(stop.set)

    async with asyncio.timeout(10):
        await run_periodically("test", turn, every=3600, stop=stop)


class TestTakeLease:
    async def test_one_of_many_gets_it(
        self, migrated: Database, migrated_url: str, opening: OpenDatabase
    ) -> None:
        instances = [migrated, await opening(migrated_url)]

        takes = [take_lease(instances[n % 2], "task", f"h{n}", now=NOW, seconds=60) for n in range(10)]

        assert sorted(await asyncio.gather(*takes)) == [False] * 9 + [True]

    async def test_one_of_many_gets_it_when_its_time_has_passed(
        self, migrated: Database, migrated_url: str, opening: OpenDatabase
    ) -> None:
        instances = [migrated, await opening(migrated_url)]
        await take_lease(migrated, "task", "old", now=NOW, seconds=60)
        later = NOW + timedelta(seconds=60)

        takes = [take_lease(instances[n % 2], "task", f"h{n}", now=later, seconds=60) for n in range(10)]

        assert sorted(await asyncio.gather(*takes)) == [False] * 9 + [True]

    async def test_its_holder_prolongs_it(self, migrated: Database) -> None:
        assert await take_lease(migrated, "task", "a", now=NOW, seconds=60)
        assert await take_lease(migrated, "task", "a", now=NOW + timedelta(seconds=59), seconds=60)
        assert not await take_lease(migrated, "task", "b", now=NOW + timedelta(seconds=61), seconds=60)

    async def test_another_task_is_another_lease(self, migrated: Database) -> None:
        assert await take_lease(migrated, "task", "a", now=NOW, seconds=60)
        assert await take_lease(migrated, "other", "b", now=NOW, seconds=60)
