"""The password pool: what it makes, what it accepts, and how much of it runs at a time."""

import asyncio
import base64
import contextlib
import os
import sys
import threading
import unicodedata
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import argon2
import pytest

from domain.errors import Overloaded
from server.crypto.hash_pool import MAX_PREPARING
from server.crypto.password_hasher import HashingRules, PasswordHasher

CHEAP = HashingRules(memory_kib=64, time=1, workers=2)
SLOW = 32 * 1024
"""KiB of memory that keep one hash busy for longer than the event loop needs for a few turns."""


@pytest.fixture(scope="module")
def pool() -> Iterator[PasswordHasher]:
    pool = PasswordHasher(CHEAP)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def narrow() -> Iterator[PasswordHasher]:
    """One thread, two places in the queue."""
    pool = PasswordHasher(HashingRules(memory_kib=SLOW, time=2, workers=1, queue=2))
    yield pool
    pool.close()


def niceness_of_threads() -> list[int]:
    """Return how far each thread of this process lets others go first."""
    stats = (task.joinpath("stat").read_text() for task in Path("/proc/self/task").iterdir())
    return [int(stat.rpartition(")")[2].split()[16]) for stat in stats]


class TestThreads:
    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere niceness is the whole process's")
    async def test_let_the_event_loop_go_first(self) -> None:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        before = niceness_of_threads()
        fresh = PasswordHasher(CHEAP)

        await fresh.hash("correct horse")
        after = niceness_of_threads()
        fresh.close()

        nicer = min(own + 10, 19)
        assert after.count(nicer) == before.count(nicer) + 1
        assert os.getpriority(os.PRIO_PROCESS, 0) == own


class TestHash:
    async def test_is_argon2id_with_a_salt_of_16_and_a_tag_of_32_bytes(self, pool: PasswordHasher) -> None:
        hashed = await pool.hash("correct horse")

        algorithm, version, cost, salt, tag = hashed.split("$")[1:]
        assert (algorithm, version, cost) == ("argon2id", "v=19", "m=64,t=1,p=1")
        assert (len(salt), len(tag)) == (22, 43)  # unpadded base64 of 16 and 32 bytes
        assert not pool.needs_rehash(hashed)
        assert await pool.hash("correct horse") != hashed


class TestDerive:
    async def test_is_argon2id_at_the_cost_it_names(self, pool: PasswordHasher) -> None:
        derived = await pool.hash_code("k7m2px9qrt", b"s" * 16, "m=64,t=2,p=1")

        argon2.PasswordHasher().verify(
            "$argon2id$v=19$m=64,t=2,p=1$" + "$".join(unpadded(part) for part in (b"s" * 16, derived)),
            "k7m2px9qrt",
        )
        assert len(derived) == 32

    async def test_code_salt_and_cost_all_count(self, pool: PasswordHasher) -> None:
        derived = {
            await pool.hash_code(code, salt, cost)
            for code in ("a", "b") for salt in (b"s" * 16, b"t" * 16) for cost in ("m=64,t=1,p=1", "m=64,t=2,p=1")
        }  # fmt: skip

        assert len(derived) == 8

    async def test_the_cost_of_today_is_that_of_passwords(self, pool: PasswordHasher) -> None:
        assert f"${pool.hash_params}$" in await pool.hash("correct horse")


def unpadded(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")


class TestVerify:
    @pytest.mark.parametrize("password", ["correct horse", " spaces count ", "x" * 1024, "ÅΩ①ﬁ", "😀" * 32])
    async def test_the_password_fits_and_others_do_not(self, pool: PasswordHasher, password: str) -> None:
        hashed = await pool.hash(password)

        assert await pool.verify(password, hashed)
        assert not await pool.verify(password[:-1], hashed)
        assert not await pool.verify(password.swapcase() + "!", hashed)

    async def test_compares_nfkc_forms(self, pool: PasswordHasher) -> None:
        hashed = await pool.hash("caf\u00e9 \u2460")

        assert await pool.verify("cafe\u0301 1", hashed)
        assert await pool.verify(unicodedata.normalize("NFD", "caf\u00e9 \u2460"), hashed)
        assert not await pool.verify("cafe 1", hashed)

    @pytest.mark.threat("V72")
    async def test_nothing_is_cut_at_72_bytes(self, pool: PasswordHasher) -> None:
        hashed = await pool.hash("x" * 72 + "one tail")

        assert not await pool.verify("x" * 72 + "another", hashed)
        assert not await pool.verify("x" * 72, hashed)

    async def test_what_nobody_has_is_wrong_and_no_fault(self, pool: PasswordHasher) -> None:
        """More than 1,024 code points, before NFKC or after it (U+FDFA becomes 18, passlib takes 4,096); a user's that
        there is not."""
        hashed = await pool.hash("x" * 1025)

        assert not await pool.verify("x" * 1025, hashed)
        assert not await pool.verify("\ufdfa" * 228, hashed)
        assert not await pool.verify("\ufdfa" * 1024, None)
        assert not await pool.verify("The password of nobody.", None)

    @pytest.mark.parametrize(
        "broken",
        [
            "",
            "!",
            "plain",
            "md5$a$b",
            "$1$abc$def",
            "$6$a$b",
            "$argon2id$",
            "$argon2id$v=19$m=64,t=1,p=1$c2FsdA",
            "$argon2id$v=19$m=64,t=1,p=1$$",
            "$argon2id$é",
            "$argon2id$v=19$m=1,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAA",
            "$argon2x$v=19$m=64,t=1,p=1$AAAA$AAAA",
            "$2b$12$short",
            "$2x$04$VTjpQSN.bvNPsx2qGVTcreOQQeXWGLHxx7xZeIU11H9SwBHaphsfK",
            "scrypt$3$salt$8$1$AAAA",
            "scrypt$2$salt$0$1$AAAA",
            "scrypt$1024$salt$8$1$***",
            "scrypt$99999999999999999999$salt$8$1$AAAA",
            "$scrypt$ln=99,r=8,p=1$AAAA$AAAA",
            "pbkdf2_sha256$0$a$b",
            "pbkdf2_sha256$x$a$b",
            "pbkdf2_sha256$",
            "pbkdf2_md5$1$a$b",
            "argon2$",
            "bcrypt_sha256$x",
            "\x00",
            "abababababababababababababababab:ab",
        ],
    )
    async def test_a_broken_hash_fits_nothing(self, pool: PasswordHasher, broken: str) -> None:
        assert not await pool.verify("correct horse", broken)
        assert pool.needs_rehash(broken)


class TestNeedsRehash:
    @pytest.mark.parametrize(
        "rules",
        [
            HashingRules(memory_kib=128, time=1),
            HashingRules(memory_kib=32, time=1),
            HashingRules(memory_kib=64, time=2),
            HashingRules(memory_kib=64, time=1, parallelism=2),
        ],
    )
    async def test_what_was_made_under_other_rules(self, pool: PasswordHasher, rules: HashingRules) -> None:
        other = PasswordHasher(rules)
        hashed = await other.hash("correct horse")
        other.close()

        assert await pool.verify("correct horse", hashed)
        assert pool.needs_rehash(hashed)

    async def test_other_lengths_types_and_versions(self, pool: PasswordHasher) -> None:
        start, salt, tag = (await pool.hash("correct horse")).rsplit("$", 2)

        assert pool.needs_rehash(f"{start}${salt[:11]}${tag}")
        assert pool.needs_rehash(f"{start}${salt}${tag[:22]}")
        assert pool.needs_rehash(f"{start.replace('argon2id', 'argon2i')}${salt}${tag}")
        assert pool.needs_rehash(f"{start.replace('v=19', 'v=16')}${salt}${tag}")


async def hold_thread(pool: PasswordHasher, free: threading.Event) -> asyncio.Task[None]:
    """Keep a thread of a pool busy until an event is set; return the job, which has begun."""
    begun = threading.Event()

    def hold() -> None:
        begun.set()
        free.wait()

    job = asyncio.create_task(pool._threads.run(hold))
    await asyncio.to_thread(begun.wait)
    return job


class TestBoundedWork:
    async def test_beyond_the_queue_is_overload(self, narrow: PasswordHasher) -> None:
        answers = await asyncio.gather(*(narrow.hash("x") for _ in range(10)), return_exceptions=True)

        refused = [answer for answer in answers if isinstance(answer, Overloaded)]
        assert len(refused) == 7  # one is hashed, two wait
        assert {refusal.retry_after for refusal in refused} == {1}
        assert await narrow.verify("x", await narrow.hash("x"))

    async def test_waiting_too_long_is_overload(self) -> None:
        pool = PasswordHasher(HashingRules(memory_kib=64, time=1, workers=1, wait=timedelta(seconds=1)))
        free = threading.Event()
        running = await hold_thread(pool, free)

        answers = await asyncio.gather(*(pool.hash("x") for _ in range(2)), return_exceptions=True)
        free.set()
        await running

        assert [type(answer) for answer in answers] == [Overloaded, Overloaded]
        assert await pool.hash("x")
        pool.close()

    async def test_who_leaves_takes_the_job_along(self, narrow: PasswordHasher) -> None:
        running, *waiting = [asyncio.create_task(narrow.hash("x")) for _ in range(3)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()

        assert await running
        assert await asyncio.gather(*(narrow.hash("x") for _ in range(3)))  # every place is free again
        assert all(task.cancelled() for task in waiting)

    async def test_a_thread_is_busy_until_it_is_done_even_if_the_caller_has_left(
        self, narrow: PasswordHasher
    ) -> None:
        free = threading.Event()
        gone = await hold_thread(narrow, free)
        gone.cancel()

        crowd = [asyncio.create_task(narrow.hash("x")) for _ in range(4)]
        await asyncio.sleep(0)
        free.set()
        answers = await asyncio.gather(*crowd, return_exceptions=True)

        assert [type(answer) for answer in answers].count(Overloaded) == 2  # all of the queue is two places
        assert await narrow.hash("x")

    async def test_a_fault_is_told_and_leaves_the_place_free(self, narrow: PasswordHasher) -> None:
        for _ in range(3):
            with pytest.raises(KeyError):
                await narrow.hash_code("k7m2px9qrt", b"s" * 16, "m=64,t=1")

        assert narrow.state().busy == 0
        assert await narrow.hash("x")

    async def test_who_has_left_is_told_nothing(self, narrow: PasswordHasher) -> None:
        complaints: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
        gone = asyncio.create_task(narrow.hash("x"))
        await asyncio.sleep(0)
        gone.cancel()

        assert await narrow.hash("x")

        assert complaints == []

    async def test_the_event_loop_keeps_turning(self, narrow: PasswordHasher) -> None:
        job = asyncio.create_task(narrow.hash("x"))
        turns = 0
        while not job.done():
            await asyncio.sleep(0)
            turns += 1

        assert turns > 10


@dataclass
class Crowd:
    """Jobs that wait for a pool whose threads are kept busy, and then for being let go on."""

    pool: PasswordHasher
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    stops: dict[int, threading.Event] = field(default_factory=dict)
    begun: threading.Event = field(default_factory=threading.Event)

    @classmethod
    @contextlib.asynccontextmanager
    async def wait(cls, number: int, *, stops: Sequence[int]) -> AsyncIterator["Crowd"]:
        """Yield so many jobs that begin together; those of `stops` wait until the end."""
        crowd = cls(PasswordHasher(HashingRules()), stops={stop: threading.Event() for stop in stops})
        threads, free = crowd.pool._threads, threading.Event()
        busy = asyncio.create_task(threads.run(free.wait))
        await asyncio.sleep(0)
        crowd.tasks = [asyncio.create_task(threads.run(crowd.do, each)) for each in range(number)]
        await asyncio.sleep(0)
        free.set()
        await busy
        try:
            yield crowd
        finally:
            for stop in crowd.stops.values():
                stop.set()
            await asyncio.gather(*crowd.tasks, return_exceptions=True)
            crowd.pool.close()

    def do(self, number: int) -> None:
        self.begun.set()
        if number in self.stops:
            self.stops[number].wait()
        self.done.append(number)


class TestTogether:
    async def test_all_have_their_turn_in_the_order_of_coming_but_for_who_leaves_before(self) -> None:
        async with Crowd.wait(40, stops=[0]) as crowd:
            crowd.tasks[1].cancel()
            await asyncio.sleep(0)
            crowd.stops[0].set()
            await asyncio.gather(*crowd.tasks, return_exceptions=True)

            assert crowd.done == [0, *range(2, 40)]

    async def test_whoever_waits_when_it_is_closed_gets_no_thread(self) -> None:
        async with Crowd.wait(2, stops=[0]) as crowd:
            await asyncio.to_thread(crowd.begun.wait)
            closing = asyncio.create_task(asyncio.to_thread(crowd.pool.close))
            await asyncio.wait({crowd.tasks[1]}, timeout=60)
            crowd.stops[0].set()
            await closing
            await crowd.tasks[0]

        assert crowd.done == [0]


class TestEntrance:
    async def test_lets_in_few_at_a_time_in_the_order_of_coming(self, pool: PasswordHasher) -> None:
        entered: list[int] = []
        may_finish = asyncio.Event()

        async def enter(number: int) -> None:
            async with pool.admission():
                entered.append(number)
                await may_finish.wait()

        crowd = asyncio.gather(*(enter(number) for number in range(3 * MAX_PREPARING)))
        while len(entered) < MAX_PREPARING:  # noqa: ASYNC110 - it is the turns that count
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        first = list(entered)
        may_finish.set()
        await crowd

        assert first == list(range(MAX_PREPARING))
        assert entered == list(range(3 * MAX_PREPARING))

    async def test_one_turn_of_the_event_loop_refuses_few(self) -> None:
        """Others get their turn between them, though none of the crowd waits for anything."""
        full = PasswordHasher(HashingRules(memory_kib=64, time=1, workers=1, queue=0))
        free = threading.Event()
        busy = asyncio.create_task(full._threads.run(free.wait))
        await asyncio.sleep(0)
        refused = 0

        async def enter() -> None:
            nonlocal refused
            try:
                async with full.admission():
                    pass
            except Overloaded:
                refused += 1

        crowd = asyncio.gather(*(enter() for _ in range(10 * MAX_PREPARING)))
        most = before = 0
        while not crowd.done():
            await asyncio.sleep(0)
            most, before = max(most, refused - before), refused
        free.set()
        await busy

        assert refused == 10 * MAX_PREPARING
        assert most <= MAX_PREPARING
        assert await full.hash("x")
        full.close()

    async def test_waiting_too_long_is_overload(self) -> None:
        pool = PasswordHasher(HashingRules(memory_kib=64, time=1, wait=timedelta(0)))
        async with contextlib.AsyncExitStack() as inside:
            for _ in range(MAX_PREPARING):
                await inside.enter_async_context(pool.admission())

            with pytest.raises(Overloaded):
                await inside.enter_async_context(pool.admission())

        async with pool.admission():
            assert pool.state().refused == 1
        pool.close()
