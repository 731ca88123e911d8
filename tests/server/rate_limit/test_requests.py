"""The limit of requests: what passes unasked, what is drawn, what is kept, against a shared counter in memory."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from domain.context import Client
from domain.errors import Limited, Unavailable
from domain.ports import Limit
from domain.rate_limits.policy import Quota
from server.crypto.keyring import Keyring
from server.rate_limit import requests as limiter
from server.rate_limit.requests import RequestLimiter, WindowCount
from tests.service import START, MovableClock

WINDOW = timedelta(seconds=10)
HERE = Client("192.0.2.1")
LOOK = "sessions.get_current"


@dataclass
class Memory:
    """A shared counter of one key that takes its time, and may be away."""

    number: int = 0
    end: datetime = START
    draws: list[int] = field(default_factory=list)
    is_away: bool = False

    async def hit_many(self, count: Limit, amount: int, now: datetime, end: datetime) -> WindowCount:
        await asyncio.sleep(0)
        self.draws.append(amount)
        if self.is_away:
            raise Unavailable
        if self.end <= now:
            self.number, self.end = 0, end
        self.number += amount
        return WindowCount(self.number, self.end)


@dataclass
class Instance:
    """A limiter, and who was told to have spent what."""

    limiter: RequestLimiter
    clock: MovableClock
    reached: list[tuple[Client, str]]

    async def passes(self, client: Client = HERE, operation_id: str = LOOK) -> bool:
        """Send a request."""
        if self.limiter.passes(client.network or "", operation_id, self.clock.now):
            return True
        try:
            await self.limiter.hit(client, operation_id)
        except Limited:
            return False
        return True

    async def send(self, number: int) -> int:
        """Send so many requests at once; give how many passed."""
        return sum(await asyncio.gather(*(self.passes() for _ in range(number))))


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


def instance(shared: Memory, clock: MovableClock, number: int = 100) -> Instance:
    reached: list[tuple[Client, str]] = []

    def reach(client: Client, operation_id: str) -> None:
        reached.append((client, operation_id))

    cipher = Keyring(["k" * 32])
    quota = Quota(number, WINDOW)
    one = RequestLimiter(quota, shared=shared, cipher=cipher, clock=clock, reached=reach)
    return Instance(one, clock, reached)


class TestOneInstance:
    async def test_asks_no_more_once_it_is_spent(self, clock: MovableClock) -> None:
        shared = Memory()
        one = instance(shared, clock)
        await one.send(150)
        asked = len(shared.draws)

        assert await one.send(50) == 0

        assert len(shared.draws) == asked

    async def test_never_says_to_wait_longer_than_a_window(self, clock: MovableClock) -> None:
        shared = Memory(number=1000, end=START + 5 * WINDOW)
        one = instance(shared, clock, 1)
        await one.passes()

        with pytest.raises(Limited) as refused:
            await one.limiter.hit(HERE, LOOK)

        assert refused.value.retry_after == 10


class TestTwoInstances:
    async def test_tell_of_a_spent_window_once(self, clock: MovableClock) -> None:
        shared = Memory()
        one, two = instance(shared, clock), instance(shared, clock)

        for _ in range(3):
            for each in (one, two):
                await each.send(150)

        assert one.reached + two.reached == [(HERE, LOOK)]

    async def test_tell_of_the_next_window_again(self, clock: MovableClock) -> None:
        shared = Memory()
        one, two = instance(shared, clock), instance(shared, clock)
        await one.send(150)
        clock.advance(seconds=10)

        await two.send(150)

        assert (one.reached, two.reached) == ([(HERE, LOOK)], [(HERE, LOOK)])

    async def test_share_the_end_of_the_window(self, clock: MovableClock) -> None:
        shared = Memory()
        one, two = instance(shared, clock), instance(shared, clock)
        await one.send(150)
        clock.advance(seconds=4)
        await two.send(150)
        clock.advance(seconds=6)

        assert await two.send(20) == 20


class TestACounterThatIsAway:
    async def test_is_asked_once_a_window(self, clock: MovableClock) -> None:
        shared = Memory(is_away=True)
        one = instance(shared, clock)
        await one.send(500)
        clock.advance(seconds=10)
        shared.is_away = False

        assert await one.send(500) == 100
        assert shared.draws[0] == 20
        assert len(shared.draws) < 15


class TestMemory:
    async def test_holds_no_more_than_it_may(self, clock: MovableClock) -> None:
        one = instance(Memory(), clock)
        for number in range(limiter.MOST_WINDOWS + 500):
            one.limiter.passes(str(number), LOOK, clock.now)

        assert len(one.limiter.windows) == limiter.MOST_WINDOWS
        assert ("0", LOOK) not in one.limiter.windows
