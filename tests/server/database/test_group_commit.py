"""Transactions that share a commit on SQLite: each is kept whole or not at all, and told only what is so."""

import asyncio
import sqlite3
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from domain.errors import Unavailable
from models.known_network import upsert_known_network
from models.user import CHANGE_USER, LOCK_USER_BY_EMAIL
from server.database.database import Database, open_database
from server.database.errors import is_unavailable
from server.database.sqlite.group_commit import AT_MOST, GroupCommit
from tests.rows import NOW
from tests.server.conftest import OpenDatabase
from tests.server.database.test_transactions import ADD_USER, HASTY, Unmet, names, row
from tests.sqlite import locked

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

END_ALL = text('INSERT OR ROLLBACK INTO "user" SELECT * FROM "user"')
"""Ends the transaction of all, as a full disk may, where there is any user."""

PUT_OFF = text("PRAGMA defer_foreign_keys = ON")
"""After it, a row whose user is missing makes the commit fail, and no statement before it."""


async def add(database: Database, *added: str) -> None:
    async with database.transaction() as db:
        for name in added:
            db.defer(ADD_USER, **row(name))


async def rename(database: Database, whose: str, name: str) -> None:
    async with database.transaction() as db:
        db.require(LOCK_USER_BY_EMAIL, Unmet, email=f"{whose}@example.com")
        db.defer(CHANGE_USER, whose=whose, name=name)


async def end_all(database: Database) -> None:
    async with database.transaction() as db:
        db.defer(END_ALL)


async def spoil_commit(database: Database) -> None:
    async with database.transaction() as db:
        db.defer(PUT_OFF)
        db.defer(upsert_known_network("sqlite"), user_id="nobody", network=b"somewhere", last_success=NOW)


async def waiting(database: Database, *works: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    """Start all, in this order, and return when the first waits for the lock and the others for it."""
    tasks = [asyncio.create_task(work) for work in works]
    async with asyncio.timeout(60):
        while database.pool.grouped < len(tasks) - 1 or not database.pool_state().used:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    return tasks


async def together(database: Database, *works: Coroutine[Any, Any, None]) -> Sequence[BaseException | None]:
    """Run all of them while another connection holds the lock; return the outcome of each."""
    with locked(database.address.target):
        tasks = await waiting(database, *works)
    return await asyncio.gather(*tasks, return_exceptions=True)


async def commits(database: Database) -> list[str]:
    """Return what will hold the commits from now on."""
    seen: list[str] = []
    connection = await database.pool.acquire(time.monotonic() + 5)
    connection._connection.set_trace_callback(lambda sql: seen.append(sql) if sql == "COMMIT" else None)
    database.pool.release(connection)
    return seen


class TestGroups:
    async def test_fifty_writers_share_a_commit_or_two(self, migrated: Database) -> None:
        made = await commits(migrated)
        wanted = sorted(map(str, range(50)))

        outcomes = await together(migrated, *(add(migrated, name) for name in wanted))

        assert outcomes == [None] * 50
        assert await names(migrated) == wanted
        assert len(made) == 1 + 50 // AT_MOST + 1, "one for all that fit, one for the rest, one to look"

    async def test_each_sees_those_before_it(self, migrated: Database) -> None:
        outcomes = await together(
            migrated,
            rename(migrated, "ada", "Eve"),
            add(migrated, "ada"),
            rename(migrated, "ada", "Lovelace"),
        )

        assert [type(outcome) for outcome in outcomes] == [Unmet, type(None), type(None)]
        assert await names(migrated) == ["Lovelace"]

    async def test_one_that_fails_takes_nothing_of_others_along_and_leaves_nothing(
        self, migrated: Database
    ) -> None:
        await add(migrated, "ada")

        outcomes = await together(
            migrated, add(migrated, "ben"), add(migrated, "cid", "ada"), add(migrated, "dan")
        )

        assert [type(outcome) for outcome in outcomes] == [type(None), IntegrityError, type(None)]
        assert await names(migrated) == ["ada", "ben", "dan"]

    async def test_all_of_them_failing_is_no_commit(self, migrated: Database) -> None:
        made = await commits(migrated)

        outcomes = await together(migrated, rename(migrated, "ada", "Eve"), rename(migrated, "ben", "Eve"))

        assert [type(outcome) for outcome in outcomes] == [Unmet, Unmet]
        assert made == []

    async def test_a_commit_that_fails_fails_for_everybody(self, migrated: Database) -> None:
        """Also for who met what another one had written: it was not kept."""
        outcomes = await together(
            migrated, add(migrated, "ada"), add(migrated, "ada"), spoil_commit(migrated), add(migrated, "ben")
        )

        assert [type(outcome) for outcome in outcomes] == [sqlite3.IntegrityError] * 4
        assert await names(migrated) == []
        await add(migrated, "next")
        assert await names(migrated) == ["next"]

    async def test_a_fault_that_ends_the_transaction_of_all_is_told_to_all(self, migrated: Database) -> None:
        outcomes = await together(migrated, add(migrated, "ada"), end_all(migrated), add(migrated, "ben"))

        assert [type(outcome) for outcome in outcomes] == [IntegrityError] * 3
        assert await names(migrated) == []

    @pytest.mark.parametrize("leaving", [0, 1], ids=["the first", "one behind it"])
    async def test_who_leaves_takes_only_its_own_along(self, migrated: Database, leaving: int) -> None:
        wanted = ["ada", "ben", "cid"]
        with locked(migrated.address.target):
            tasks = await waiting(migrated, *(add(migrated, name) for name in wanted))
            left = tasks.pop(leaving)
            left.cancel()
            await asyncio.wait([left])

        await asyncio.gather(*tasks)
        del wanted[leaving]
        assert await names(migrated) == wanted

    async def test_others_wait_for_who_is_in_the_middle_of_something_and_see_nothing_of_it(
        self, migrated: Database
    ) -> None:
        holder = migrated.begin()
        await holder.execute(ADD_USER, **row("ada"))

        tasks = await waiting(migrated, rename(migrated, "ada", "Eve"), add(migrated, "ben"))
        has_ended = [task.done() for task in tasks]
        await holder.close()

        assert has_ended == [False, False]
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Unmet, type(None)]
        assert await names(migrated) == ["ben"]

    async def test_everybody_is_told_who_waited_for_the_lock_in_vain(
        self, migrated: Database, migrated_url: str, opening: OpenDatabase
    ) -> None:
        hasty = await opening(migrated_url, timeout=HASTY)

        with locked(hasty.address.target):
            tasks = [asyncio.create_task(add(hasty, name)) for name in ("ada", "ben", "cid")]
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert [outcome is not None and is_unavailable(outcome) for outcome in outcomes] == [True] * 3
        await add(hasty, "next")
        assert await names(migrated) == ["next"]

    async def test_what_is_under_way_ends_before_the_database_is_closed(
        self, migrated: Database, migrated_url: str
    ) -> None:
        closing, others = await open_database(migrated_url, pool_size=5, timeout=HASTY), asyncio.all_tasks()
        with locked(closing.address.target):
            [task] = await waiting(closing, add(closing, "ada"))
            task.cancel()
            await asyncio.wait([task])
            await closing.close()
            left = asyncio.all_tasks() - others

        assert left == set()
        assert await names(migrated) == []

    async def test_nobody_waits_for_who_is_ended(self, migrated: Database) -> None:
        with locked(migrated.address.target):
            tasks = await waiting(migrated, *(add(migrated, name) for name in ("ada", "eve", "bob")))
            [serving] = [task for task in asyncio.all_tasks() if task.get_name() == GroupCommit.__name__]
            serving.cancel()
            async with asyncio.timeout(60):
                told = await asyncio.gather(*tasks, return_exceptions=True)

        assert [type(fault) for fault in told] == [Unavailable] * 3
        await add(migrated, "late")
        assert await names(migrated) == ["late"]
