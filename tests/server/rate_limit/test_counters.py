"""Counting: alike in the database and on a Redis server, by many at once too, and when that server is away."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
import uvloop
from redis.exceptions import TimeoutError as RedisTimeout

from domain.errors import Unavailable
from domain.ports import Limit, LimitResult, Transaction
from server.database.database import Database, open_database
from server.rate_limit import Store
from server.rate_limit.database import DatabaseCounters
from server.rate_limit.redis import Backoff, RedisCounters
from server.rate_limit.redis_connection import redis_address
from tests.conftest import create_database
from tests.redis_server import RedisServer
from tests.rows import NOW

MINUTE = timedelta(minutes=1)
MOMENT = timedelta(milliseconds=1)
TIMEOUT = 5.0
ONE, TWO = b"1" * 32, b"2" * 32
DRAWN = Limit(ONE, 100, MINUTE, unbounded=True)
HOUR = timedelta(hours=1)


class Counting:
    """A store, and a database whose transactions it may count in."""

    def __init__(self, counters: Store, database: Database) -> None:
        self.counters = counters
        self.database = database

    async def take(self, *counts: Limit, at: timedelta = timedelta(0)) -> LimitResult:
        """Count in a transaction of its own."""
        async with self.database.transaction() as db:
            return await self.counters.hit(db, counts, NOW + at)

    async def are_spent(self, *counts: Limit, at: timedelta = timedelta(0)) -> list[bool]:
        return [end is not None for end in await self.counters.exceeded_until(counts, NOW + at)]

    async def forget(self, *keys: bytes) -> None:
        async with self.database.transaction() as db:
            await self.counters.reset(db, keys)


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
async def counting(
    request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path
) -> AsyncIterator[Counting]:
    """Each store; the counters on Redis stand beside a SQLite file."""
    dialect = "postgresql" if request.param == "postgresql" else "sqlite"
    url = create_database(request, dialect, tmp_path, migrated_file)
    database = await open_database(url, pool_size=7, timeout=5, patience=0)
    counters: Store = DatabaseCounters(database)
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.empty()
        counters = RedisCounters(server.url, TIMEOUT)
    yield Counting(counters, database)
    await counters.close()
    await database.close()


class TestTake:
    async def test_counts_up_to_the_number(self, counting: Counting) -> None:
        count = Limit(ONE, 2, MINUTE)

        taken = [await counting.take(count) for _ in range(3)]

        assert [counted.spent_until is None for counted in taken] == [True, True, False]
        assert [counted.filled for counted in taken] == [frozenset(), {ONE}, frozenset()]
        assert await counting.are_spent(count) == [True]

    @pytest.mark.parametrize("keys", [(ONE, TWO), (TWO, ONE)], ids=["spent first", "spent last"])
    async def test_counts_on_all_or_on_none(self, counting: Counting, keys: tuple[bytes, bytes]) -> None:
        narrow, wide = Limit(keys[0], 1, MINUTE), Limit(keys[1], 2, MINUTE)
        await counting.take(narrow, wide)

        assert (await counting.take(narrow, wide)).spent_until is not None
        assert (await counting.take(wide, narrow)).spent_until is not None

        assert await counting.are_spent(narrow, wide) == [True, False]

    async def test_says_when_the_last_window_ends(self, counting: Counting) -> None:
        counts = (Limit(ONE, 1, MINUTE), Limit(TWO, 1, 9 * MINUTE))
        await counting.take(*counts)

        refused = [await counting.take(*some) for some in (counts[:1], counts)]

        short, long = [each.spent_until - NOW for each in refused if each.spent_until is not None]
        assert MINUTE / 2 < short <= MINUTE
        assert 8 * MINUTE < long <= 9 * MINUTE

    async def test_never_refuses_what_is_open(self, counting: Counting) -> None:
        taken = [await counting.take(Limit(ONE, 3, MINUTE, unbounded=True)) for _ in range(4)]

        assert [counted.spent_until for counted in taken] == [None] * 4
        assert [counted.filled for counted in taken] == [frozenset(), frozenset(), {ONE}, frozenset()]
        assert await counting.are_spent(Limit(ONE, 4, MINUTE), Limit(ONE, 5, MINUTE)) == [True, False]
        assert await counting.are_spent(Limit(ONE, 4, MINUTE, unbounded=True)) == [False]

    async def test_lets_exactly_the_number_through_of_many_at_once(self, counting: Counting) -> None:
        counts = [Limit(ONE, 10, MINUTE), Limit(TWO, 15, MINUTE)]

        taken = await asyncio.gather(*(counting.take(*counts) for _ in range(50)))

        assert sum(counted.spent_until is None for counted in taken) == 10
        assert sum(ONE in counted.filled for counted in taken) == 1
        assert await counting.are_spent(Limit(TWO, 10, MINUTE), Limit(TWO, 11, MINUTE)) == [True, False]

    async def test_in_any_order_waits_for_nobody_for_ever(self, counting: Counting) -> None:
        there, back = (
            [Limit(key, 1000, MINUTE) for key in (ONE, TWO)],
            [Limit(key, 1000, MINUTE) for key in (TWO, ONE)],
        )

        await asyncio.gather(
            *(counting.take(*(there if turn % 2 else back)) for turn in range(40)),
            *(counting.forget(ONE, TWO) for _ in range(10)),
        )

        assert await counting.are_spent(Limit(ONE, 1000, MINUTE)) == [False]


class TestForget:
    async def test_begins_anew(self, counting: Counting) -> None:
        count = Limit(ONE, 1, MINUTE)
        await counting.take(count)
        await counting.take(Limit(TWO, 1, MINUTE))

        await counting.forget(ONE)

        assert await counting.are_spent(count, Limit(TWO, 1, MINUTE)) == [False, True]
        assert (await counting.take(count)).spent_until is None


class TestDraw:
    async def test_adds_what_is_asked(self, counting: Counting) -> None:
        added = [await counting.counters.hit_many(DRAWN, amount, NOW, NOW + MINUTE) for amount in (20, 10)]

        assert [result.number for result in added] == [20, 30]
        assert all(MINUTE / 2 < result.end - NOW <= MINUTE for result in added)

    async def test_counts_every_one_of_many_at_once(self, counting: Counting) -> None:
        draws = (counting.counters.hit_many(DRAWN, 1, NOW, NOW + MINUTE) for _ in range(40))

        added = await asyncio.gather(*draws)

        assert sorted(result.number for result in added) == list(range(1, 41))


class TestWindowsInTheDatabase:
    async def test_are_fixed_from_the_first_count_and_begin_anew_after_their_end(
        self, migrated: Database
    ) -> None:
        counting = Counting(DatabaseCounters(migrated), migrated)
        count = Limit(ONE, 2, MINUTE)
        await counting.take(count)
        await counting.take(count, at=MINUTE / 2)

        refused = await counting.take(count, at=MINUTE - MOMENT)

        assert refused.spent_until == NOW + MINUTE
        assert await counting.are_spent(count, at=MINUTE - MOMENT) == [True]
        assert await counting.are_spent(count, at=MINUTE) == [False]
        again = [await counting.take(count, at=MINUTE + number * MOMENT) for number in range(3)]
        assert [counted.filled for counted in again] == [frozenset(), {ONE}, frozenset()]
        assert again[2].spent_until == NOW + 2 * MINUTE

    async def test_keep_their_end_when_drawn_from(self, migrated: Database) -> None:
        """Whatever end is asked for: another instance may have begun the window at another time."""
        counters = DatabaseCounters(migrated)
        await counters.hit_many(DRAWN, 5, NOW, NOW + MINUTE)

        sooner = await counters.hit_many(DRAWN, 5, NOW, NOW + MINUTE / 2)
        later = await counters.hit_many(DRAWN, 5, NOW + MINUTE / 2, NOW + MINUTE * 3 / 2)
        after = await counters.hit_many(DRAWN, 5, NOW + MINUTE, NOW + 2 * MINUTE)

        assert (sooner, later, after) == ((10, NOW + MINUTE), (15, NOW + MINUTE), (5, NOW + 2 * MINUTE))

    async def test_are_over_for_a_clock_that_was_set_back(self, migrated: Database) -> None:
        counting = Counting(DatabaseCounters(migrated), migrated)
        count = Limit(ONE, 1, MINUTE)
        await counting.take(count, at=HOUR)

        spent = await counting.are_spent(count)
        taken = await counting.take(count)
        refused = await counting.take(count)

        assert spent == [False]
        assert taken.filled == {ONE}
        assert refused.spent_until == NOW + MINUTE

    async def test_hold_whichever_of_a_burst_comes_first(self, migrated: Database) -> None:
        """The time of a request is that of its beginning: some that began earlier count later."""
        counting = Counting(DatabaseCounters(migrated), migrated)
        count = Limit(ONE, 3, MINUTE)

        taken = [await counting.take(count, at=-number * MOMENT) for number in range(10)]

        assert [counted.spent_until is None for counted in taken] == [True] * 3 + [False] * 7
        assert taken[-1].spent_until == NOW - 9 * MOMENT + MINUTE
        assert await counting.are_spent(count, at=-9 * MOMENT) == [True]

    async def test_are_over_for_an_instance_whose_clock_is_behind(self, migrated: Database) -> None:
        counters = DatabaseCounters(migrated)
        ahead = NOW + timedelta(seconds=45)
        await counters.hit_many(DRAWN, 100, ahead, ahead + MINUTE)

        result = await counters.hit_many(DRAWN, 10, NOW, NOW + MINUTE)

        assert result == (10, NOW + MINUTE)

    async def test_are_read_by_the_transaction_that_counted_in_them(self, migrated: Database) -> None:
        counters, count = DatabaseCounters(migrated), Limit(ONE, 1, MINUTE)

        async with migrated.transaction() as db:
            await counters.hit(db, [count], NOW)
            ends = await counters.exceeded_until([Limit(TWO, 1, MINUTE), count], NOW, db)

        assert ends == [None, NOW + MINUTE]

    async def test_are_not_counted_in_by_a_transaction_that_fails(self, migrated: Database) -> None:
        counting = Counting(DatabaseCounters(migrated), migrated)

        db = migrated.begin()
        await counting.counters.hit(db, [Limit(ONE, 1, MINUTE)], NOW)
        await db.close()

        assert await counting.are_spent(Limit(ONE, 1, MINUTE)) == [False]


@pytest.fixture
async def server() -> AsyncIterator[RedisServer]:
    """A server of this test's own, which it may end."""
    server = RedisServer()
    server.start()
    yield server
    server.stop()


async def counted_by(counters: RedisCounters, count: Limit) -> bool:
    """Return whether it was counted; nothing is done in the transaction."""
    nothing = cast(Transaction, None)
    return (await counters.hit(nothing, [count], NOW)).spent_until is None


class Silent:
    """A server that takes connections and never answers, and how many it took."""

    def __init__(self) -> None:
        self.taken = 0
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> str:
        """Listen; give the address."""
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.taken += 1
        self._writers.append(writer)


@pytest.fixture
async def silent() -> AsyncIterator[tuple[Silent, RedisCounters]]:
    """A silent server, and counters that wait a second for it."""
    server = Silent()
    counters = RedisCounters(await server.start(), 1.0)
    yield server, counters
    await counters.close()
    await server.stop()


async def is_unavailable(question: Awaitable[object]) -> bool:
    try:
        await question
    except Unavailable:
        return True
    return False


class TestSilence:
    async def test_is_borne_for_a_moment_only_by_who_can_do_without(self) -> None:
        server = Silent()
        counters = RedisCounters(await server.start(), 600.0)

        async with asyncio.timeout(60):
            assert await is_unavailable(counters.hit_many(DRAWN, 1, NOW, NOW + MINUTE))

        await counters.close()
        await server.stop()

    async def test_is_borne_once_and_not_again_for_a_while(
        self, silent: tuple[Silent, RedisCounters]
    ) -> None:
        server, counters = silent
        assert await is_unavailable(counters.exceeded_until([DRAWN], NOW))
        assert server.taken == 1

        for _ in range(20):
            assert await is_unavailable(counters.exceeded_until([DRAWN], NOW))
            assert await is_unavailable(counters.hit_many(DRAWN, 1, NOW, NOW + MINUTE))
            await counters.reset(cast(Transaction, None), [ONE])

        assert server.taken == 1

    async def test_of_a_draw_stops_no_other_question(self, silent: tuple[Silent, RedisCounters]) -> None:
        server, counters = silent
        assert await is_unavailable(counters.hit_many(DRAWN, 1, NOW, NOW + MINUTE))

        assert await is_unavailable(counters.exceeded_until([DRAWN], NOW))

        assert server.taken == 2

    async def test_is_told_to_each_of_many_at_once(self, silent: tuple[Silent, RedisCounters]) -> None:
        _, counters = silent

        assert all(
            await asyncio.gather(*(is_unavailable(counters.exceeded_until([DRAWN], NOW)) for _ in range(100)))
        )

    async def test_of_a_question_that_ignores_its_end_is_borne_no_longer(self) -> None:
        forever = asyncio.Event()

        async def ask() -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await forever.wait()
            await forever.wait()

        async with asyncio.timeout(60):
            with pytest.raises(RedisTimeout):
                await Backoff(0.01).wait(ask())

        forever.set()

    async def test_that_ends_is_noticed_after_the_pause(self) -> None:
        patience, asked = Backoff(0.01, pause=1), 0

        async def answer() -> bool:
            return True

        with pytest.raises(RedisTimeout):
            await patience.wait(asyncio.Event().wait())
        async with asyncio.timeout(10):
            while patience.is_exhausted():
                asked += 1
                await asyncio.sleep(0)

        assert asked > 0
        assert patience.is_exhausted(), "one question goes first"
        assert await patience.wait(answer())
        assert not patience.is_exhausted()


@contextlib.contextmanager
def resetting() -> Iterator[int]:
    """Lend the port of a server that breaks every connection off as soon as it is made."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken, _ = listener.accept()
                    taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    taken.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_connection_that_breaks_off_between_two_writes_is_an_outage() -> None:
    """In the event loop of the service, which has an error of its own for the second write; not each time."""

    async def asked(port: int) -> list[bool]:
        counters = RedisCounters(f"redis://127.0.0.1:{port}/0", TIMEOUT)
        found = [await is_unavailable(counters.exceeded_until([DRAWN], NOW)) for _ in range(300)]
        await counters.close()
        return found

    with resetting() as port:
        assert all(uvloop.run(asked(port)))


@pytest.mark.long
class TestRedis:
    async def test_forgets_a_count_when_its_window_ends(self, server: RedisServer) -> None:
        counters = RedisCounters(server.url, TIMEOUT)
        count = Limit(ONE, 1, timedelta(milliseconds=1))
        assert await counted_by(counters, count)

        # One question takes about as long as the window: this is over after a few.
        async with asyncio.timeout(10):
            while not await counted_by(counters, count):
                pass

        await counters.close()

    async def test_that_is_away_is_said_to_be(self, server: RedisServer) -> None:
        counters = RedisCounters(server.url, TIMEOUT)
        count = Limit(ONE, 5, MINUTE)
        await counted_by(counters, count)
        server.halt()

        asked: list[Callable[[], object]] = [
            lambda: counters.exceeded_until([count], NOW),
            lambda: counted_by(counters, count),
            lambda: counters.hit_many(DRAWN, 1, NOW, NOW + MINUTE),
        ]
        for ask in asked:
            with pytest.raises(Unavailable):
                await ask()  # type: ignore[misc]
        await counters.reset(cast(Transaction, None), [ONE])

        await counters.close()

    async def test_that_comes_back_is_found_at_once(self, server: RedisServer) -> None:
        counters = RedisCounters(server.url, TIMEOUT)
        await counted_by(counters, Limit(ONE, 1, MINUTE))
        server.halt()
        server.start()

        assert await counted_by(counters, Limit(ONE, 1, MINUTE))

        await counters.close()

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("valkey://127.0.0.1:6379/1", "redis://127.0.0.1:6379/1"),
            ("valkeys://127.0.0.1", "rediss://127.0.0.1"),
            ("redis://valkey.example.com", "redis://valkey.example.com"),
            ("unix:///run/valkey.sock", "unix:///run/valkey.sock"),
        ],
    )
    def test_and_valkey_are_one(self, written: str, read: str) -> None:
        assert redis_address(written) == read

    @pytest.mark.parametrize("address", ["redis://127.0.0.1:port", "redis://127.0.0.1/0?colour=red"])
    def test_refuses_an_address_that_is_none(self, address: str) -> None:
        with pytest.raises(ValueError, match=r"Port|colour"):
            RedisCounters(address, TIMEOUT)
