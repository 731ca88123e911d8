"""Commands in transactions, on both databases: alone, deferred, in each other's way, and given up halfway."""

import asyncio
import gc
import time
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from models import CREDENTIAL, Account, KnownNetwork, Session, User
from models.account import LOCK_UNCHANGED, PASSWORD_BY_EMAIL, AccountRow
from models.base import metadata
from models.counter import reset_counts
from models.known_network import upsert_known_network
from models.session import END_SESSION, LOCK_CALLER
from models.statements import insert
from models.user import CHANGE_USER, LOCK_USER_BY_EMAIL, UserRow
from server.database.database import Database
from server.database.errors import is_retryable, is_unavailable
from server.database.transaction import Transaction
from tests.rows import NOW, session, user
from tests.server.conftest import OpenDatabase
from tests.sqlite import locked

HASTY = 0.3
"""A time-out in seconds for the tests in which it passes."""


def row(name: str) -> dict[str, Any]:
    """Return the columns of a user."""
    return UserRow(
        name, name, f"{name}@example.com", False, None, NOW, NOW, None, None, False, "user", False, None, None
    )._asdict()


async def add(database: Database, name: str) -> None:
    async with database.transaction() as db:
        await db.execute(ADD_USER, **row(name))


async def names(database: Database) -> list[str]:
    async with database.transaction() as db:
        return sorted((await db.execute(select(col(User.name)))).scalars())


COUNT_USERS = select(func.count(col(User.id)))
ADD_USER, ADD_ACCOUNT = insert(User), insert(Account)


async def watched(database: Database) -> list[str]:
    """Return what the next transaction will have asked of PostgreSQL; nothing is known of SQLite."""
    seen: list[str] = []
    if database.dialect == "postgresql":
        connection = await database.pool.acquire(time.monotonic() + 5)
        connection.add_query_logger(lambda asked: seen.append(asked.query))
        database.pool.release(connection)
    return seen


async def until_waiting(database: Database, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Return when each task is done, or waits: for a connection, or on PostgreSQL for a lock."""
    async with asyncio.timeout(60):
        while await busy(database, tasks) < len(tasks):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def busy(database: Database, tasks: Sequence[asyncio.Task[Any]]) -> int:
    """Return how many tasks are done or wait."""
    return sum(task.done() for task in tasks) + database.pool_state().waiting + await lock_waits(database)


async def lock_waits(database: Database) -> int:
    """Return how many connections wait for a lock of PostgreSQL."""
    if database.dialect == "sqlite":
        return 0
    connection = await asyncpg.connect(database.address.target)
    try:
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return int(await connection.fetchval(waits))
    finally:
        await connection.close()


async def is_free(database: Database) -> bool:
    """Return whether somebody else can write at once, and on the same connection if there is only one."""
    async with asyncio.timeout(60):
        await add(database, "next")
    return await database.reads.one(PASSWORD_BY_EMAIL, "next@example.com") is not None


class TestCommands:
    async def test_are_kept_by_the_commit_and_by_nothing_else(self, migrated: Database) -> None:
        """Also of what comes after a commit, which begins a transaction of its own."""
        db = migrated.begin()

        await db.execute(ADD_USER, **row("ada"))
        await db.commit()
        await db.execute(ADD_USER, **row("ben"))
        await db.close()

        assert await names(migrated) == ["ada"]
        assert await is_free(migrated)

    async def test_give_rows_as_queries_do(self, migrated: Database) -> None:
        await add(migrated, "ada")

        async with migrated.transaction() as db:
            found = await db.execute(LOCK_USER_BY_EMAIL, email="ada@example.com")
            missing = await db.execute(LOCK_USER_BY_EMAIL, email="ben@example.com")

        assert (found, missing) == ([UserRow(**row("ada"))], [])

    async def test_what_is_there_already_is_no_fault_of_the_database(self, migrated: Database) -> None:
        await add(migrated, "ada")

        with pytest.raises(IntegrityError) as refused:
            await add(migrated, "ada")

        assert "ada" not in str(refused.value).replace("ada@", "")
        assert not is_unavailable(refused.value)
        assert not is_retryable(refused.value)
        assert await is_free(migrated)

    async def test_are_seen_by_who_watches_every_statement(self, migrated: Database) -> None:
        seen: list[str] = []

        def note(statement: str, _: Sequence[object]) -> AbstractContextManager[None]:
            seen.append(statement)
            return nullcontext()

        migrated.hook = note

        await add(migrated, "ada")

        assert [statement.split()[0] for statement in seen] == ["INSERT"]
        migrated.hook = None
        assert await names(migrated) == ["ada"]


class Unmet(Exception):
    """The guard had no result."""


class TestFiled:
    """What nobody waits for: it happens with what comes next, or by the commit."""

    async def test_is_kept_by_the_commit_and_by_nothing_else(self, migrated: Database) -> None:
        kept, dropped = migrated.begin(), migrated.begin()

        kept.defer(ADD_USER, **row("ada"))
        await kept.commit()
        await kept.close()
        dropped.defer(ADD_USER, **row("ben"))
        await dropped.close()
        await dropped.commit()
        dropped.defer(ADD_USER, **row("bob"))
        await dropped.close()

        assert await names(migrated) == ["ada"]

    @pytest.mark.parametrize("number", [1, 30, 10_000])
    async def test_all_of_it_happens(self, migrated: Database, number: int) -> None:
        async with migrated.transaction() as db:
            for each in range(number):
                db.defer(ADD_USER, **row(str(each)))

        assert await names(migrated) == sorted(map(str, range(number)))

    async def test_is_seen_by_whatever_comes_next(self, migrated: Database) -> None:
        async with migrated.transaction() as db:
            db.defer(ADD_USER, **row("ada"))
            [held] = await db.execute(LOCK_USER_BY_EMAIL, email="ada@example.com")
            db.defer(CHANGE_USER, whose="ada", name="Lovelace")
            [loaded] = await db.execute(select(User))
            db.defer(ADD_USER, **row("ben"))
            with pytest.raises(Unmet):
                async with db.savepoint():
                    raise Unmet

        assert (held.name, loaded.name) == ("ada", "Lovelace")
        assert await names(migrated) == ["Lovelace", "ben"]

    async def test_what_is_there_already_is_told_by_the_commit(self, migrated: Database) -> None:
        await add(migrated, "ada")

        db = migrated.begin()
        db.defer(ADD_USER, **row("ben"))
        db.defer(ADD_USER, **row("ada"))
        with pytest.raises(IntegrityError):
            await db.commit()
        await db.close()

        assert await names(migrated) == ["ada"]
        assert await is_free(migrated)

    async def test_takes_one_statement_on_postgresql(self, migrated: Database) -> None:
        seen = await watched(migrated)

        async with migrated.transaction() as db:
            db.require(COUNT_USERS, Unmet)
            db.defer(ADD_USER, **row("ada"))
            db.defer(ADD_USER, **row("ben"))

        await asyncio.sleep(0)  # the driver tells in the next turn
        assert len(seen) == (1 if migrated.dialect == "postgresql" else 0)
        assert await names(migrated) == ["ada", "ben"]


DECIDING = ("email_verified", "two_factor_enabled", "banned", "ban_expires")
CHANGES = {
    update(Account).values(password="another"): "the password",
    delete(Account): "the account",
    update(User).values(email_verified=True): "the proof of the address",
    update(User).values(two_factor_enabled=True): "the second factor",
    update(User).values(banned=True): "a ban",
    update(User).values(ban_expires=NOW): "its end",
}
"""What may happen to a user who is signing in."""

ADD_SESSION = insert(Session)


def credential(owner: str) -> dict[str, Any]:
    """Return the columns of an account that holds a password, but for that."""
    values = dict.fromkeys(AccountRow._fields)
    return {**values, "id": owner, "user_id": owner, "provider_id": CREDENTIAL, "issuer": "", "account_id": owner,
            "created_at": NOW, "updated_at": NOW}  # fmt: skip


def open_session(name: str) -> dict[str, Any]:
    """Return the columns of a session of Ada's."""
    values = session(User(**row("ada")), name, id=name).model_dump()
    return {column.name: values[column.name] for column in metadata.tables["session"].columns}


class TestDemanded:
    """What must be there, or nothing happens."""

    @pytest.mark.parametrize("first", ["nothing", "command", "statement"])
    async def test_without_it_nothing_is_kept(self, migrated: Database, first: str) -> None:
        db = migrated.begin()
        if first == "command":
            await db.execute(ADD_USER, **row("ada"))
        if first == "statement":
            await db.execute(update(User).values({col(User.name): "Eve"}))
        db.require(LOCK_USER_BY_EMAIL, Unmet, email="eve@example.com")
        db.defer(ADD_USER, **row("ben"))
        with pytest.raises(Unmet):
            await db.commit()
        await db.close()

        assert await names(migrated) == []
        assert await is_free(migrated)

    @pytest.mark.parametrize("first", ["nothing", "command", "statement"])
    async def test_with_it_all_happens(self, migrated: Database, first: str) -> None:
        await add(migrated, "eve")

        async with migrated.transaction() as db:
            if first == "command":
                await db.execute(ADD_USER, **row("ada"))
            if first == "statement":
                await db.execute(select(1))
            db.require(LOCK_USER_BY_EMAIL, Unmet, email="eve@example.com")
            db.defer(ADD_USER, **row("ben"))

        assert await names(migrated) == (["ada", "ben", "eve"] if first == "command" else ["ben", "eve"])

    async def test_is_looked_at_after_whoever_had_it_locked(self, migrated: Database) -> None:
        """Whoever locks the user first, and ends the session, is seen by all who wait for the lock."""
        async with migrated.transaction() as db:
            ada = User(**row("ada"))
            for each in (ada, session(ada, "current", id="current"), session(ada, "other", id="other")):
                db.add(each)
        calling = {"id": "ada", "now": NOW}
        ending = migrated.begin()
        assert await ending.execute(LOCK_CALLER, session_id="current", **calling)

        async def rename() -> None:
            async with migrated.transaction() as db:
                db.require(LOCK_CALLER, Unmet, session_id="other", **calling)
                db.defer(CHANGE_USER, whose="ada", name="Eve")

        waiting = [asyncio.create_task(rename()) for _ in range(3)]
        await until_waiting(migrated, waiting)
        assert await ending.execute(END_SESSION, id="other", user_id="ada", now=NOW)
        await ending.commit()
        await ending.close()

        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Unmet] * 3
        assert await names(migrated) == ["ada"]

    @pytest.mark.threat("V37")
    @pytest.mark.parametrize("change", [None, *CHANGES], ids=["nothing", *CHANGES.values()])
    async def test_what_a_sign_in_has_seen_is_looked_at_after_whoever_had_it_locked(
        self, migrated: Database, change: Any
    ) -> None:
        """Whoever locks the user first, and changes what decides on their sign-in, is seen by all who wait."""
        seen = {name: row("ada")[name] for name in DECIDING}
        async with migrated.transaction() as db:
            await db.execute(ADD_USER, **row("ada"))
            await db.execute(ADD_ACCOUNT, **credential("ada"), password="hash")
        changer = migrated.begin()
        assert await changer.execute(LOCK_USER_BY_EMAIL, email="ada@example.com")

        async def sign_in(number: int) -> None:
            async with migrated.transaction() as db:
                db.require(LOCK_UNCHANGED, Unmet, id="ada", password="hash", **seen)
                db.defer(ADD_SESSION, **open_session(f"session{number}"))
                db.defer(reset_counts(2), key0=b"one", key1=b"other")
                db.defer(upsert_known_network(db.dialect), user_id="ada", network=b"here", last_success=NOW)

        waiting = [asyncio.create_task(sign_in(number)) for number in range(3)]
        await until_waiting(migrated, waiting)
        if change is not None:
            await changer.execute(change)
        await changer.commit()
        await changer.close()

        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        async with migrated.transaction() as db:
            sessions = (await db.execute(select(func.count()).select_from(Session))).scalar()
            networks = (await db.execute(select(func.count()).select_from(KnownNetwork))).scalar()
        assert [type(outcome) for outcome in outcomes] == [type(None) if change is None else Unmet] * 3
        assert (sessions, networks) == ((3, 1) if change is None else (0, 0))

    async def test_a_session_that_is_needed_is_not_ended_meanwhile(self, migrated: Database) -> None:
        async with migrated.transaction() as db:
            ada = User(**row("ada"))
            db.add(ada)
            db.add(session(ada, "current", id="current"))
        holder = migrated.begin()
        assert await holder.execute(LOCK_CALLER, id="ada", session_id="current", now=NOW)

        async def end() -> list[str]:
            async with migrated.transaction() as db:
                return (await db.execute(END_SESSION, id="current", user_id="ada", now=NOW)).scalars()

        ending = asyncio.create_task(end())
        await until_waiting(migrated, [ending])
        has_ended = ending.done()
        await holder.commit()
        await holder.close()

        assert not has_ended
        assert await ending == ["current"]


class TestSavepoints:
    async def test_undo_what_was_done_in_them_deferred_statements_too(self, migrated: Database) -> None:
        async with migrated.transaction() as db:
            await db.execute(ADD_USER, **row("ada"))
            with suppress(Unmet):
                async with db.savepoint():
                    await db.execute(ADD_USER, **row("ben"))
                    db.defer(ADD_USER, **row("bob"))
                    raise Unmet
            async with db.savepoint():
                db.defer(ADD_USER, **row("cid"))

        assert await names(migrated) == ["ada", "cid"]


class TestStatements:
    @pytest.mark.parametrize("then", ["execute", "flush", "commit"])
    async def test_what_is_deferred_and_what_is_added_wait_for_the_same_statement(
        self, migrated: Database, then: str
    ) -> None:
        async with migrated.transaction() as db:
            db.defer(ADD_USER, **row("ada"))
            db.add(user("ben"))

            if then == "execute":
                await db.execute(select(col(User.id)))
            elif then == "flush":
                await db.flush()

        assert await names(migrated) == ["ada", "ben"]

    async def test_many_rows_are_added_at_once(self, migrated: Database) -> None:
        wanted = [str(number) for number in range(30)]

        async with migrated.transaction() as db:
            await db.execute_many(ADD_USER, [row(name) for name in wanted])

        assert await names(migrated) == sorted(wanted)

    async def test_rows_have_the_names_of_their_columns(self, migrated: Database) -> None:
        await add(migrated, "ada")

        async with migrated.transaction() as db:
            [found] = await db.execute(
                select(col(User.email), func.count().label("number")).group_by(User.email)
            )
            [said] = await db.execute(
                text('SELECT id, created_at FROM "user" WHERE name = :name'), name="ada"
            )
            nothing = await db.execute(select(User).where(col(User.id).in_(["x", "y"])))

        assert (found.email, found.number, said.id) == ("ada@example.com", 1, "ada")
        assert (nothing, nothing.first(), nothing.scalar(), nothing.scalars()) == ([], None, None, [])

    async def test_a_statement_of_one_call_is_not_kept(self, migrated: Database) -> None:
        statement = select(col(User.id)).where(col(User.name) == "ada")
        reference = weakref.ref(statement)

        async with migrated.transaction() as db:
            await db.execute(statement)
        del statement
        gc.collect()

        assert reference() is None


class TestSnapshots:
    async def test_show_the_database_as_it_was_and_hold_up_nobody(self, migrated: Database) -> None:
        await add(migrated, "ada")

        async with migrated.snapshot() as db:
            before = (await db.execute(select(col(User.name)))).scalars()
            assert await is_free(migrated)
            after = (await db.execute(select(col(User.name)))).scalars()

        assert before == after == ["ada"]
        assert await names(migrated) == ["ada", "next"]


@pytest.mark.threat("R4")
async def test_searches_inside_transactions_do_not_wait_for_each_other(
    migrated_url: str, opening: OpenDatabase
) -> None:
    database = await opening(migrated_url, pool_size=4)

    async def read_and_search() -> list[str]:
        async with database.transaction() as db:
            await db.execute(select(col(User.id)))
            [found] = await database.search([select(col(User.name))], timedelta(seconds=5), is_scan=False)
            return found.scalars()

    await add(database, "ada")
    assert await asyncio.gather(*(read_and_search() for _ in range(20))) == [["ada"]] * 20


class TestInTheWay:
    async def test_lose_no_update(self, migrated: Database) -> None:
        await add(migrated, "0")

        async def count() -> None:
            async with migrated.transaction() as db:
                [user] = await db.execute(LOCK_USER_BY_EMAIL, email="0@example.com")
                await db.execute(CHANGE_USER, whose="0", name=str(int(user.name) + 1))

        await asyncio.gather(*(count() for _ in range(20)))

        assert await names(migrated) == ["20"]

    async def test_who_leaves_in_the_middle_holds_nobody_up(
        self, migrated_url: str, opening: OpenDatabase
    ) -> None:
        """One connection writes, here: it comes back."""
        database = await opening(migrated_url, pool_size=3)
        written = asyncio.Event()

        async def work() -> None:
            async with database.transaction() as db:
                await db.execute(ADD_USER, **row("ada"))
                written.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await written.wait()
        task.cancel()
        await asyncio.wait([task])

        assert await is_free(database)
        assert await names(database) == ["next"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_who_leaves_while_waiting_for_the_lock_of_sqlite_takes_it_from_nobody(
    migrated: Database,
) -> None:
    async def work(db: Transaction) -> None:
        try:
            await db.execute(ADD_USER, **row("ada"))
        finally:
            await db.close()

    with locked(migrated.address.target):
        task = asyncio.create_task(work(migrated.begin()))
        while not migrated.pool_state().used:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    assert await is_free(migrated)
    assert await names(migrated) == ["next"]
