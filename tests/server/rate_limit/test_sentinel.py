"""Counting on real servers with Sentinels: a failover keeps the counts, and the service finds the new primary."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from domain.errors import Unavailable
from domain.ports import Limit, Transaction
from server.rate_limit.redis import RedisCounters
from tests.labs.ha.limit_store import TIMEOUT, LimitStore, storing
from tests.labs.ha.processes import until
from tests.rows import NOW

COUNT = Limit(b"1" * 32, 3, timedelta(minutes=15))
COMMAND_TIMEOUT = 2.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[LimitStore]:
    """Two servers and three Sentinels."""
    async with storing(tmp_path / "store") as store:
        yield store


async def is_counted(counters: RedisCounters) -> bool:
    return (await counters.hit(cast(Transaction, None), [COUNT], NOW)).spent_until is None


@pytest.mark.long
async def test_a_host_that_falls_silent_with_its_sentinel_costs_no_counts(store: LimitStore) -> None:
    """The Sentinel that is asked first is on that host."""
    counters = RedisCounters(store.address, COMMAND_TIMEOUT)
    before = [await is_counted(counters) for _ in range(2)]
    await until(store.has_replicated, "replication", TIMEOUT)
    host = await store.primary()
    assert host is store.hosts[0]
    host.freeze()

    async def answers() -> bool:
        try:
            await counters.exceeded_until([COUNT], NOW)
        except Unavailable:
            return False
        return True

    await until(answers, "the new primary", TIMEOUT)
    after = [await is_counted(counters) for _ in range(2)]

    assert (before, after) == ([True, True], [True, False])
    assert await counters.has_lost_counts() is False
    await counters.close()
    host.thaw()
