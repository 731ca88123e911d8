"""Commands in transactions, on both databases: alone, beside the ORM, in each other's way, and given up halfway."""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest
from sqlalchemy import delete, event, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import col

from models import CREDENTIAL, Account, KnownNetwork, Session, User
from models.base import metadata
from models.queries import PASSWORD_BY_EMAIL, AccountRow, UserRow
from models.statements import (
    ADD_ACCOUNT,
    ADD_USER,
    END_SESSION,
    LOCK_CALLER,
    LOCK_UNCHANGED,
    LOCK_USER_BY_EMAIL,
    SEE_NETWORK,
    WriteStatement,
    change_user,
    insert,
    reset_counts,
)
from server.database.database import Database, is_unavailable
from server.database.pool import CountingPool
from server.database.transaction import Transaction
from tests.rows import NOW, session, user
from tests.server.conftest import OpenDatabase

HASTY = 0.3
"""A time-out in seconds for the tests in which it passes."""


def row(name: str) -> dict[str, Any]:
    """Give the columns of a user."""
    return UserRow(
        name, name, f"{name}@example.com", False, None, NOW, NOW, None, None, False, "user", False, None, None
    )._asdict()


async def add(database: Database, name: str) -> None:
    async with database.transaction() as db:
        await db.run(ADD_USER, **row(name))


async def names(database: Database) -> list[str]:
    async with database.transaction() as db:
        return sorted((await db.scalars(select(col(User.name)))).all())


COUNT_USERS = WriteStatement(select(func.count(col(User.id))), tuple)


async def watched(database: Database) -> list[str]:
    """Give what the next transaction will have asked of PostgreSQL; nothing is known of SQLite."""
    seen: list[str] = []
    if database.dialect == "postgresql":
        pool = database.engine.sync_engine.pool
        assert isinstance(pool, CountingPool)
        connection = await pool.acquire()
        driver: Any = connection.driver_connection
        driver.add_query_logger(lambda asked: seen.append(asked.query))
        pool.release(connection)
    return seen


async def until_waiting(database: Database, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Return when each task is done, or waits: for a connection, or on PostgreSQL for a lock."""
    pool = database.engine.sync_engine.pool
    assert isinstance(pool, CountingPool)
    async with asyncio.timeout(60):
        while sum(task.done() for task in tasks) + pool.waiting + await lock_waits(database) < len(tasks):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


async def lock_waits(database: Database) -> int:
    """Give how many connections wait for a lock of PostgreSQL."""
    if database.dialect == "sqlite":
        return 0
    connection = await asyncpg.connect(database.address.target)
    try:
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return int(await connection.fetchval(waits))
    finally:
        await connection.close()


async def is_free(database: Database) -> bool:
    """Whether somebody else can write at once, and on the same connection if there is only one."""
    async with asyncio.timeout(60):
        await add(database, "next")
    return await database.reads.one(PASSWORD_BY_EMAIL, "next@example.com") is not None


class TestCommands:
    async def test_are_kept_by_the_commit_and_by_nothing_else(self, migrated: Database) -> None:
        kept, dropped = migrated.begin(), migrated.begin()

        await kept.run(ADD_USER, **row("ada"))
        await kept.commit()
        await kept.close()
        await dropped.run(ADD_USER, **row("ben"))
        await dropped.close()

        assert await names(migrated) == ["ada"]

    async def test_give_rows_as_queries_do(self, migrated: Database) -> None:
        await add(migrated, "ada")

        async with migrated.transaction() as db:
            found = await db.run(LOCK_USER_BY_EMAIL, email="ada@example.com")
            missing = await db.run(LOCK_USER_BY_EMAIL, email="ben@example.com")

        assert (found, missing) == ([UserRow(**row("ada"))], [])

    async def test_a_session_begins_anew_after_its_commit(self, migrated: Database) -> None:
        db = migrated.begin()

        await db.run(ADD_USER, **row("ada"))
        await db.commit()
        await db.run(ADD_USER, **row("ben"))
        await db.close()

        assert await names(migrated) == ["ada"]
        assert await is_free(migrated)

    async def test_what_is_there_already_is_told_by_the_same_error(self, migrated: Database) -> None:
        await add(migrated, "ada")

        with pytest.raises(IntegrityError) as refused:
            await add(migrated, "ada")

        assert "ada" not in str(refused.value).replace("ada@", "")
        assert await is_free(migrated)

    async def test_are_seen_by_who_watches_every_statement(self, migrated: Database) -> None:
        seen: list[str] = []
        event.listen(migrated.engine.sync_engine, "before_cursor_execute", lambda *said: seen.append(said[2]))

        await add(migrated, "ada")

        assert [statement.split()[0] for statement in seen] == ["INSERT"]
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
        await dropped.rollback()
        await dropped.commit()
        dropped.defer(ADD_USER, **row("bob"))
        await dropped.close()

        assert await names(migrated) == ["ada"]

    @pytest.mark.parametrize("number", [1, 2, 30])
    async def test_all_of_it_happens(self, migrated: Database, number: int) -> None:
        async with migrated.transaction() as db:
            for each in range(number):
                db.defer(ADD_USER, **row(str(each)))

        assert await names(migrated) == sorted(map(str, range(number)))

    async def test_is_seen_by_whatever_comes_next(self, migrated: Database) -> None:
        async with migrated.transaction() as db:
            db.defer(ADD_USER, **row("ada"))
            [held] = await db.run(LOCK_USER_BY_EMAIL, email="ada@example.com")
            db.defer(change_user("name"), whose="ada", name="Lovelace")
            loaded = await db.get_one(User, "ada")
            db.defer(ADD_USER, **row("ben"))
            savepoint = await db.begin_nested()
            await savepoint.rollback()

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
    """Give the columns of an account that holds a password, but for that."""
    values = dict.fromkeys(AccountRow._fields)
    return {**values, "id": owner, "user_id": owner, "provider_id": CREDENTIAL, "issuer": "", "account_id": owner,
            "created_at": NOW, "updated_at": NOW}  # fmt: skip


def open_session(name: str) -> dict[str, Any]:
    """Give the columns of a session of Ada's."""
    values = session(User(**row("ada")), name, id=name).model_dump()
    return {column.name: values[column.name] for column in metadata.tables["session"].columns}


class TestDemanded:
    """What must be there, or nothing happens."""

    @pytest.mark.parametrize("first", ["nothing", "command", "statement"])
    async def test_without_it_nothing_is_kept(self, migrated: Database, first: str) -> None:
        db = migrated.begin()
        if first == "command":
            await db.run(ADD_USER, **row("ada"))
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
                await db.run(ADD_USER, **row("ada"))
            if first == "statement":
                await db.execute(select(1))
            db.require(LOCK_USER_BY_EMAIL, Unmet, email="eve@example.com")
            db.defer(ADD_USER, **row("ben"))

        assert await names(migrated) == (["ada", "ben", "eve"] if first == "command" else ["ben", "eve"])

    async def test_is_looked_at_after_whoever_had_it_locked(self, migrated: Database) -> None:
        """Whoever locks the user first, and ends the session, is seen by all who wait for the lock."""
        async with migrated.transaction() as db:
            ada = User(**row("ada"))
            db.add(ada)
            await db.flush()
            db.add_all([session(ada, "current", id="current"), session(ada, "other", id="other")])
        calling = {"id": "ada", "now": NOW}
        ending = migrated.begin()
        assert await ending.run(LOCK_CALLER, session_id="current", **calling)

        async def rename() -> None:
            async with migrated.transaction() as db:
                db.require(LOCK_CALLER, Unmet, session_id="other", **calling)
                db.defer(change_user("name"), whose="ada", name="Eve")

        waiting = [asyncio.create_task(rename()) for _ in range(3)]
        await until_waiting(migrated, waiting)
        assert await ending.run(END_SESSION, id="other", user_id="ada", now=NOW)
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
            await db.run(ADD_USER, **row("ada"))
            await db.run(ADD_ACCOUNT, **credential("ada"), password="hash")
        changer = migrated.begin()
        assert await changer.run(LOCK_USER_BY_EMAIL, email="ada@example.com")

        async def sign_in(number: int) -> None:
            async with migrated.transaction() as db:
                db.require(LOCK_UNCHANGED, Unmet, id="ada", password="hash", **seen)
                db.defer(ADD_SESSION, **open_session(f"session{number}"))
                db.defer(reset_counts(2), key0=b"one", key1=b"other")
                db.defer(SEE_NETWORK, user_id="ada", network=b"here", last_success=NOW)

        waiting = [asyncio.create_task(sign_in(number)) for number in range(3)]
        await until_waiting(migrated, waiting)
        if change is not None:
            await changer.execute(change)
        await changer.commit()
        await changer.close()

        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        async with migrated.transaction() as db:
            sessions = (await db.execute(select(func.count()).select_from(Session))).scalar_one()
            networks = (await db.execute(select(func.count()).select_from(KnownNetwork))).scalar_one()
        assert [type(outcome) for outcome in outcomes] == [type(None) if change is None else Unmet] * 3
        assert (sessions, networks) == ((3, 1) if change is None else (0, 0))

    async def test_a_session_that_is_needed_is_not_ended_meanwhile(self, migrated: Database) -> None:
        async with migrated.transaction() as db:
            ada = User(**row("ada"))
            db.add(ada)
            await db.flush()
            db.add(session(ada, "current", id="current"))
        holder = migrated.begin()
        assert await holder.run(LOCK_CALLER, id="ada", session_id="current", now=NOW)

        async def end() -> list[str]:
            async with migrated.transaction() as db:
                return await db.run(END_SESSION, id="current", user_id="ada", now=NOW)

        ending = asyncio.create_task(end())
        await until_waiting(migrated, [ending])
        has_ended = ending.done()
        await holder.commit()
        await holder.close()

        assert not has_ended
        assert await ending == ["current"]


class TestBesideTheOrm:
    """One transaction, whichever way its statements go."""

    async def test_each_sees_what_the_other_has_written(self, migrated: Database) -> None:
        db = migrated.begin()

        await db.run(ADD_USER, **row("ada"))
        loaded = await db.get_one(User, "ada")
        loaded.name = "Countess"
        [held] = await db.run(LOCK_USER_BY_EMAIL, email="ada@example.com")
        await db.run(change_user("name"), whose="ada", name="Lovelace")
        await db.refresh(loaded)
        await db.commit()
        await db.close()

        assert (held.name, loaded.name) == ("Countess", "Lovelace")
        assert await names(migrated) == ["Lovelace"]

    @pytest.mark.parametrize("first", ["command", "statement"])
    async def test_both_are_undone(self, migrated: Database, first: str) -> None:
        await add(migrated, "ada")
        db = migrated.begin()

        if first == "command":
            await db.run(ADD_USER, **row("ben"))
        await db.execute(update(User).values({col(User.name): "Eve"}))
        await db.run(ADD_USER, **row("bob"))
        await db.close()

        assert await names(migrated) == ["ada"]
        assert await is_free(migrated)

    async def test_a_savepoint_holds_commands_too(self, migrated: Database) -> None:
        async with migrated.transaction() as db:
            await db.run(ADD_USER, **row("ada"))
            savepoint = await db.begin_nested()
            await db.run(ADD_USER, **row("ben"))
            await savepoint.rollback()

        assert await names(migrated) == ["ada"]

    @pytest.mark.parametrize("then", ["execute", "flush", "run", "commit"])
    async def test_what_is_filed_and_what_is_added_wait_for_the_same_statement(
        self, migrated: Database, then: str
    ) -> None:
        async with migrated.transaction() as db:
            db.defer(ADD_USER, **row("ada"))
            db.add(user("ben"))

            if then == "execute":
                await db.execute(select(col(User.id)))
            elif then == "flush":
                await db.flush()
            elif then == "run":
                await db.run(COUNT_USERS)

        assert await names(migrated) == ["ada", "ben"]

    async def test_what_was_only_added_is_written_by_the_commit(self, migrated: Database) -> None:
        db = migrated.begin()

        await db.run(ADD_USER, **row("ada"))
        db.add(User(**row("ben")))
        await db.commit()
        await db.close()

        assert await names(migrated) == ["ada", "ben"]


class TestInTheWay:
    async def test_lose_no_update(self, migrated: Database) -> None:
        await add(migrated, "0")

        async def count() -> None:
            async with migrated.transaction() as db:
                [user] = await db.run(LOCK_USER_BY_EMAIL, email="0@example.com")
                await db.run(change_user("name"), whose="0", name=str(int(user.name) + 1))

        await asyncio.gather(*(count() for _ in range(20)))

        assert await names(migrated) == ["20"]

    async def test_who_leaves_in_the_middle_holds_nobody_up(self, migrated: Database) -> None:
        written = asyncio.Event()

        async def work() -> None:
            db = migrated.begin()
            try:
                await db.run(ADD_USER, **row("ada"))
                written.set()
                await asyncio.Event().wait()
            finally:
                await db.close()

        task = asyncio.create_task(work())
        await written.wait()
        task.cancel()
        await asyncio.wait([task])

        assert await is_free(migrated)
        assert await names(migrated) == ["next"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
class TestSqlitesLock:
    """The one lock for writing, when another process has it."""

    @pytest.fixture
    async def hasty(self, migrated: Database, empty_url: str, opening: OpenDatabase) -> Database:
        return await opening(empty_url, timeout=HASTY)

    async def test_is_waited_for_and_then_given_up(self, hasty: Database) -> None:
        other = sqlite3.connect(hasty.address.target, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(Exception) as refused:  # noqa: PT011
            await add(hasty, "ada")
        other.close()

        assert is_unavailable(refused.value)
        assert await is_free(hasty)

    async def test_who_leaves_while_waiting_takes_it_from_nobody(self, migrated: Database) -> None:
        other = sqlite3.connect(migrated.address.target, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        pool = migrated.engine.sync_engine.pool

        async def work(db: Transaction) -> None:
            try:
                await db.run(ADD_USER, **row("ada"))
            finally:
                await db.close()

        task = asyncio.create_task(work(migrated.begin()))
        while not pool.checkedout():  # type: ignore[attr-defined]  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        other.execute("ROLLBACK")
        other.close()

        assert await is_free(migrated)
        assert await names(migrated) == ["next"]
