"""Reads that are answered together: one statement for many, each with their own answer, and in time or not at all."""

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Integer, String, bindparam, column, func, select
from sqlmodel import col

from domain.errors import Unavailable
from domain.ports import Reads
from models import User
from models.account import PASSWORD_BY_EMAIL
from models.counter import COUNTER_BY_KEY
from models.queries import ReadStatement
from models.session import SESSION_BY_DIGEST, SESSIONS_OF_USER
from server.database.batch import both
from server.database.database import Database
from server.database.postgresql.engine import postgresql_connect
from server.database.postgresql.reads import PostgresqlReads
from tests import turns
from tests.postgres import Cluster
from tests.rows import NOW, insert_many
from tests.server.conftest import OpenDatabase

LARGEST = {"sqlite": 32, "postgresql": 500}
"""Look-ups that one statement answers."""

MOST_LISTS = 16
"""Lists that one statement of PostgreSQL answers."""

TIMEOUT = 0.5
"""Seconds, for reads that are expected to time out."""

LONG_TIMEOUT = 600.0
"""Seconds, for reads that are not expected to time out."""

UNKNOWN = b"nobody"
"""A key that no counter has."""


def names(make: Callable[[str], Any] = str) -> ReadStatement[Any]:
    """Return the look-up of a name by the user's id."""
    wanted = col(User.id) == bindparam("value", type_=String())
    return ReadStatement(select(col(User.name)).where(wanted), lambda row: make(row[0]), key=User.id)


async def add_users(database: Database, count: int) -> list[str]:
    """Add so many users, whose ids are their names; give those."""
    ids = [f"u{number}" for number in range(count)]
    stamps = {"created_at": NOW, "updated_at": NOW}
    rows = [{"id": name, "name": name, "email": f"{name}@example.com", **stamps} for name in ids]
    async with database.transaction() as db:
        await insert_many(db, User, rows)
    return ids


def ask(reads: Reads, query: ReadStatement[Any], values: Sequence[object]) -> "list[asyncio.Future[Any]]":
    """Ask for the first row of each value, all in this turn of the event loop."""
    return [asyncio.ensure_future(reads.one(query, value)) for value in values]


async def settled(answers: Iterable[Awaitable[Any]]) -> list[Any]:
    """Return the answers and the faults; who is never told anything ends the test instead of keeping it."""
    async with asyncio.timeout(60):
        return await asyncio.gather(*answers, return_exceptions=True)


class TestTwo:
    async def test_each_gives_what_is_there_for_its_value(self, migrated: Database) -> None:
        reads, ids = migrated.reads, await add_users(migrated, 40)
        first, second = names(), names(str.upper)
        asked = [*zip(ids, reversed(ids), strict=True), ("u1", "x"), ("x", "u1"), ("x", "y"), ("u1", "a\0")]

        found = await settled(reads.two(first, one, second, other) for one, other in asked)

        assert found == [
            *zip(ids, map(str.upper, reversed(ids)), strict=True),
            ("u1", None),
            (None, "U1"),
            (None, None),
            ("u1", None),
        ]

    async def test_rows_of_empty_columns_are_there(self, migrated: Database) -> None:
        ids = await add_users(migrated, 1)
        wanted = col(User.id) == bindparam("value", type_=String())
        images: ReadStatement[Any] = ReadStatement(select(col(User.image)).where(wanted), list, key=User.id)

        assert await migrated.reads.two(images, ids[0], images, "x") == ([None], None)

    async def test_two_errors_are_one(self) -> None:
        loop = asyncio.get_running_loop()
        unseen: list[object] = []
        loop.set_exception_handler(lambda _, context: unseen.append(context))
        failed = [loop.create_future(), loop.create_future()]
        for future in failed:
            future.set_exception(Unavailable())

        with pytest.raises(Unavailable):
            await both(*failed)
        del failed, future
        gc.collect()
        await asyncio.sleep(0)

        assert unseen == []


class TestTogether:
    async def test_one_statement_answers_so_many(self, migrated: Database) -> None:
        largest = LARGEST[migrated.dialect]
        ids = await add_users(migrated, 2 * largest + 11)
        answered_before: list[int] = []
        answers: list[asyncio.Future[Any]] = []

        def make(name: str) -> str:
            answered_before.append(sum(answer.done() for answer in answers))
            return name

        answers += ask(migrated.reads, names(make), ids)
        found = await settled(answers)

        assert found == ids
        assert Counter(answered_before) == {0: largest, largest: largest, 2 * largest: 11}

    async def test_who_ask_for_the_same_share_its_row(self, migrated: Database) -> None:
        await add_users(migrated, 2)
        made: list[str] = []

        def make(name: str) -> str:
            made.append(name)
            return name

        found = await settled(ask(migrated.reads, names(make), ["u1", "u0", "u1", "u9", "u1", "u0"]))

        assert found == ["u1", "u0", "u1", None, "u1", "u0"]
        assert sorted(made) == ["u0", "u1"]

    async def test_text_that_cannot_be_stored_spoils_nobodys_answer(self, migrated: Database) -> None:
        await add_users(migrated, 2)
        answered_before: list[int] = []
        answers: list[asyncio.Future[Any]] = []

        def make(name: str) -> str:
            answered_before.append(answers[0].done() + answers[-1].done())
            return name

        answers += ask(migrated.reads, names(make), ["u0", "\ud800", "u1\0", "u1"])
        found = await settled(answers)

        assert found == ["u0", None, None, "u1"]
        assert answered_before == [0, 0]

    async def test_different_questions_about_one_value_stay_apart(self, migrated: Database) -> None:
        await add_users(migrated, 1)
        loud, quiet = names(str.upper), names(str.lower)

        found = await settled(migrated.reads.one(query, "u0") for query in (loud, quiet) * 3)

        assert found == ["U0", "u0"] * 3

    async def test_who_has_left_is_not_asked_for(self, migrated: Database) -> None:
        ids = await add_users(migrated, 3)
        made: list[str] = []

        def make(name: str) -> str:
            made.append(name)
            return name

        answers = ask(migrated.reads, names(make), ids)
        answers[1].cancel()
        found = await settled(answers)

        assert [found[0], found[2]] == ["u0", "u2"]
        assert isinstance(found[1], asyncio.CancelledError)
        assert sorted(made) == ["u0", "u2"]


@pytest.mark.parametrize("dialect", ["sqlite"])
class TestSqlite:
    async def test_a_row_that_is_no_answer_is_a_fault_of_its_asker_alone(self, migrated: Database) -> None:
        ids = await add_users(migrated, 5)
        broken = ids[2]

        def make(name: str) -> str:
            if name == broken:
                raise ValueError(name)
            return name

        found = await settled(ask(migrated.reads, names(make), ids))

        assert isinstance(found[2], ValueError)
        assert [*found[:2], *found[3:]] == [*ids[:2], *ids[3:]]


@pytest.fixture
async def server(cluster: Cluster, opening: OpenDatabase) -> Database:
    """A PostgreSQL database with the current schema."""
    return await opening(cluster.create(migrated=True))


@pytest.fixture
async def hurried(server: Database) -> AsyncIterator[PostgresqlReads]:
    """Reads of it that soon give up."""
    reads = reads_of(server, TIMEOUT)
    yield reads
    await reads.close()


def reads_of(server: Database, seconds: float) -> PostgresqlReads:
    """Return what reads it with two connections, and gives up after so many seconds."""
    return PostgresqlReads(postgresql_connect(server.address.target, seconds), 2, seconds)


@asynccontextmanager
async def locked(server: Database, table: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Lock a table against readers; yield a function that returns once a statement waits for the lock."""
    holder = await asyncpg.connect(server.address.target)
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

    async def until_waiting() -> None:
        async with asyncio.timeout(60):
            while not await holder.fetchval(waits):
                await holder.execute("SELECT pg_stat_clear_snapshot()")

    try:
        async with holder.transaction():
            await holder.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
            yield until_waiting
    finally:
        await holder.close()


class TestPostgresql:
    async def test_who_ask_for_the_same_list_share_its_rows_but_not_the_list(self, server: Database) -> None:
        await add_users(server, 1)
        made: list[str] = []

        def make(name: str) -> str:
            made.append(name)
            return name

        query = names(make)
        lists = await settled(server.reads.all(query, "u0") for _ in range(3))
        lists[0].clear()

        assert lists == [[], ["u0"], ["u0"]]
        assert made == ["u0"]

    async def test_others_have_their_turn_between_many_rows_of_lists(self, server: Database) -> None:
        numbers = func.generate_series(1, bindparam("value", type_=Integer()))
        with turns.counted() as turn:
            query: ReadStatement[int] = ReadStatement(
                select(numbers), lambda _: turn(), key=column("number", Integer())
            )
            lists = await settled(server.reads.all(query, count) for count in (900, 700))

        assert [len(found) for found in lists] == [900, 700]
        assert max(Counter(number for found in lists for number in found).values()) == 500

    async def test_who_leaves_while_it_is_read_disturbs_nobody(self, server: Database) -> None:
        ids = await add_users(server, 3)
        query = names()

        async with locked(server, "user") as until_waiting:
            answers = ask(server.reads, query, ids)
            await until_waiting()
            answers[0].cancel()
        found = await settled(answers)

        assert isinstance(found[0], asyncio.CancelledError)
        assert found[1:] == ids[1:]

    async def test_look_ups_do_not_wait_for_lists(self, server: Database) -> None:
        async with locked(server, "session") as until_waiting:
            listing = asyncio.create_task(server.reads.all(SESSIONS_OF_USER, "u0"))
            await until_waiting()

            assert await server.reads.one(COUNTER_BY_KEY, UNKNOWN) is None
            assert not listing.done()
        assert await listing == []

    async def test_nobody_waits_longer_because_others_were_before_them(
        self, server: Database, hurried: PostgresqlReads
    ) -> None:
        async with locked(server, "session"):
            many = [
                asyncio.create_task(hurried.all(SESSIONS_OF_USER, str(n))) for n in range(20 * MOST_LISTS)
            ]
            await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
            # Somebody elsewhere who comes as the first have given up waits as long as these have.
            later = reads_of(server, TIMEOUT)
            [outcome] = await settled([later.all(SESSIONS_OF_USER, "u0")])
            await later.close()

            assert isinstance(outcome, Unavailable)
            assert all(asking.done() for asking in many)
        assert {type(asking.exception()) for asking in many} == {Unavailable}

    async def test_each_is_told_by_an_exception_of_their_own(
        self, server: Database, hurried: PostgresqlReads
    ) -> None:
        async with locked(server, "session"):
            asked = [hurried.all(SESSIONS_OF_USER, str(number)) for number in range(3)]
            told = await settled(asked)

        assert {type(exception) for exception in told} == {Unavailable}
        assert len({id(exception) for exception in told}) == len(told)

    async def test_who_has_left_is_not_told_of_the_fault(self, server: Database) -> None:
        # They must still wait when it is seen that their statement does.
        reads = reads_of(server, 10 * TIMEOUT)
        async with locked(server, "user") as until_waiting:
            answers = ask(reads, names(), ["u0", "u1", "u2"])
            await until_waiting()
            answers[0].cancel()
            told = await settled(answers)
        await reads.close()

        assert [type(outcome) for outcome in told] == [asyncio.CancelledError, Unavailable, Unavailable]

    @pytest.mark.parametrize("was_asked", [False, True])
    async def test_who_is_asked_after_the_end_reads_nothing(self, server: Database, was_asked: bool) -> None:
        reads = reads_of(server, LONG_TIMEOUT)
        if was_asked:
            assert await reads.one(COUNTER_BY_KEY, UNKNOWN) is None
            assert await reads.each(COUNTER_BY_KEY, [UNKNOWN]) == [None]
            assert await reads.all(SESSIONS_OF_USER, "u0") == []
        await reads.close()

        with pytest.raises(Unavailable):
            await reads.one(COUNTER_BY_KEY, UNKNOWN)
        with pytest.raises(Unavailable):
            await reads.each(COUNTER_BY_KEY, [UNKNOWN])
        with pytest.raises(Unavailable):
            await reads.all(SESSIONS_OF_USER, "u0")

    async def test_who_waits_at_the_end_is_told(self, server: Database) -> None:
        reads = reads_of(server, LONG_TIMEOUT)
        async with locked(server, "session") as until_waiting:
            under_way = asyncio.create_task(reads.all(SESSIONS_OF_USER, "u0"))
            await until_waiting()
            gathering = asyncio.create_task(reads.all(SESSIONS_OF_USER, "u1"))
            await asyncio.sleep(0)
            [not_begun] = ask(reads, COUNTER_BY_KEY, [UNKNOWN])

            async with asyncio.timeout(60):
                await reads.close()
            told = await settled([under_way, gathering, not_begun])

        assert {type(outcome) for outcome in told} == {Unavailable}

    async def test_who_waits_for_a_connection_at_the_end_opens_none(self, server: Database) -> None:
        reads = reads_of(server, LONG_TIMEOUT)
        async with locked(server, "user") as until_waiting:
            under_way, waiting = ask(reads, PASSWORD_BY_EMAIL, ["ada@example.com", "ben@example.com"])
            await until_waiting()

            async with asyncio.timeout(60):
                await reads.close()
            told = await settled([under_way, waiting])

        assert [type(outcome) for outcome in told] == [Unavailable, Unavailable]

    async def test_who_gathers_while_the_statement_is_ended_from_outside_is_told(
        self, server: Database
    ) -> None:
        async with locked(server, "session") as until_waiting:
            others = asyncio.all_tasks()
            [under_way] = ask(server.reads, SESSION_BY_DIGEST, [UNKNOWN])
            await until_waiting()
            [gathering] = ask(server.reads, SESSION_BY_DIGEST, [b"somebody"])
            ended = [task for task in asyncio.all_tasks() - others if task.cancel()]
            told = await settled([under_way, gathering])

        assert len(ended) == 1
        assert [type(outcome) for outcome in told] == [Unavailable, Unavailable]
        assert await server.reads.one(SESSION_BY_DIGEST, UNKNOWN) is None
