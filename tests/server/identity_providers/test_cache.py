"""Copies: an hour old at most, older while the provider is down, one fetch for however many."""

import asyncio
from dataclasses import dataclass, field

import pytest

from server.identity_providers.cache import CachedDocument
from server.identity_providers.http_client import ProviderError
from tests.service import MovableClock


@dataclass
class Source:
    """Something to fetch: it counts, may be down, and may wait to be let go."""

    fetches: int = 0
    is_down: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def fetch(self) -> int:
        self.fetches += 1
        await self.gate.wait()
        if self.is_down:
            raise ProviderError("down")
        return self.fetches


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def copy(source: Source, clock: MovableClock) -> CachedDocument[int]:
    return CachedDocument(source.fetch, clock)


class TestGet:
    async def test_fetches_once_for_many(self, copy: CachedDocument[int], source: Source) -> None:
        source.gate.clear()
        waiting = [asyncio.create_task(copy.get()) for _ in range(50)]
        await asyncio.sleep(0)
        source.gate.set()

        assert await asyncio.gather(*waiting) == [1] * 50
        assert source.fetches == 1

    async def test_goes_on_when_who_asked_first_is_gone(
        self, copy: CachedDocument[int], source: Source
    ) -> None:
        source.gate.clear()
        first, second = asyncio.create_task(copy.get()), asyncio.create_task(copy.get())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        source.gate.set()

        assert await second == 1
        assert first.cancelled()

    async def test_gives_the_old_copy_while_the_source_is_down_and_tries_again_after_a_minute(
        self, copy: CachedDocument[int], source: Source, clock: MovableClock
    ) -> None:
        await copy.get()
        source.is_down = True
        clock.advance(days=3)

        assert [await copy.get(), await copy.get()] == [1, 1]
        assert source.fetches == 2, "it is not tried again at once"
        source.is_down = False
        clock.advance(seconds=60)
        assert await copy.get() == 3

    async def test_does_not_wait_long_for_a_slow_source_when_there_is_an_old_copy(
        self, source: Source, clock: MovableClock
    ) -> None:
        copy = CachedDocument(source.fetch, clock, patience=0.01)
        await copy.get()
        source.gate.clear()
        clock.advance(hours=2)

        old = await copy.get()
        source.gate.set()
        await asyncio.sleep(0)

        assert old == 1
        assert await copy.get() == 2, "the slow fetch was not in vain"

    async def test_survives_a_clock_that_is_set_back(
        self, copy: CachedDocument[int], clock: MovableClock
    ) -> None:
        await copy.get()
        clock.advance(hours=-5)

        assert await copy.get() == 2


class TestRenewed:
    async def test_fails_when_the_source_is_down_and_spares_it_then(
        self, copy: CachedDocument[int], source: Source
    ) -> None:
        await copy.get()
        source.is_down = True
        with pytest.raises(ProviderError):
            await copy.renewed()

        assert await copy.renewed() == 1

        assert source.fetches == 2
