"""Leases: one holder at a time, for a time."""

import asyncio
from datetime import timedelta

from server import leases
from server.database import Database
from tests.rows import NOW
from tests.server.conftest import OpenDatabase


class TestTake:
    async def test_one_of_many_gets_it(
        self, migrated: Database, empty_url: str, opening: OpenDatabase
    ) -> None:
        instances = [migrated, await opening(empty_url)]

        takes = [leases.take(instances[n % 2], "task", f"h{n}", now=NOW, seconds=60) for n in range(10)]

        assert sorted(await asyncio.gather(*takes)) == [False] * 9 + [True]

    async def test_one_of_many_gets_it_when_its_time_has_passed(
        self, migrated: Database, empty_url: str, opening: OpenDatabase
    ) -> None:
        instances = [migrated, await opening(empty_url)]
        await leases.take(migrated, "task", "old", now=NOW, seconds=60)
        later = NOW + timedelta(seconds=60)

        takes = [leases.take(instances[n % 2], "task", f"h{n}", now=later, seconds=60) for n in range(10)]

        assert sorted(await asyncio.gather(*takes)) == [False] * 9 + [True]

    async def test_its_holder_prolongs_it(self, migrated: Database) -> None:
        assert await leases.take(migrated, "task", "a", now=NOW, seconds=60)
        assert await leases.take(migrated, "task", "a", now=NOW + timedelta(seconds=59), seconds=60)
        assert not await leases.take(migrated, "task", "b", now=NOW + timedelta(seconds=61), seconds=60)

    async def test_another_task_is_another_lease(self, migrated: Database) -> None:
        assert await leases.take(migrated, "task", "a", now=NOW, seconds=60)
        assert await leases.take(migrated, "other", "b", now=NOW, seconds=60)
