"""Reads on both databases: the right row for everybody, as it is at the time of asking, or an error in time."""

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Integer, LargeBinary, bindparam, column, delete, func, select, table, text, update
from sqlmodel import col

from domain import tokens
from domain.errors import Unavailable
from models import Account, Session, User
from models.account import PASSWORD_BY_EMAIL, PASSWORD_BY_USER, PASSWORD_BY_USERNAME
from models.queries import ReadStatement, by
from models.session import SESSION_BY_DIGEST, SESSIONS_OF_USER, SessionRow
from models.user import UserRow
from server.database.database import Database
from server.database.errors import is_retryable, is_unavailable
from server.database.postgresql.engine import postgresql_connect
from server.database.postgresql.reads import PostgresqlReads
from server.database.sqlite.reads import SqliteReads
from tests import turns
from tests.postgres import Cluster
from tests.rows import NOW, WEEK, session, user
from tests.server.conftest import OpenDatabase

SESSIONS_BY_DIGEST: ReadStatement[Any] = ReadStatement(
    select(col(Session.id)).where(col(Session.token_digest) == bindparam("value", type_=LargeBinary())), tuple
)
"""The look-up of the hot path, asked for as a list."""

FIRST_TWO: ReadStatement[Any] = ReadStatement(
    select(col(Session.user_id), col(Session.user_agent))
    .where(by(Session.user_id), col(Session.user_agent).in_(["a", "b", "c"]))
    .order_by(col(Session.user_agent))
    .limit(2),
    tuple,
    key=Session.user_id,
    is_limited=True,
)
"""Two sessions of a user."""


async def add(database: Database, *rows: Any) -> None:
    async with database.transaction() as db:
        for row in rows:
            db.add(row)
            await db.flush()


async def find(database: Database, token: str) -> tuple[SessionRow, UserRow] | None:
    return await database.reads.one(SESSION_BY_DIGEST, tokens.digest(token))


@pytest.fixture
def ada() -> User:
    return user(
        "ada", email_verified=True, image="x", username="ada", display_username="Ada", two_factor_enabled=True,
        role="admin", banned=True, ban_reason="rude", ban_expires=NOW + WEEK,
    )  # fmt: skip


class TestOne:
    async def test_gives_every_column_as_the_models_do(self, migrated: Database, ada: User) -> None:
        stored = session(
            ada,
            "t",
            remembered=False,
            ip_address="::1",
            user_agent='ü"\\\n\x01\u2028\U0001f600',
            impersonated_by=ada.id,
        )
        await add(migrated, ada, stored)

        found = await find(migrated, "t")

        assert found is not None
        pairs: list[tuple[Any, Any]] = [(found[0], stored), (found[1], ada)]
        for row, model in pairs:
            assert row._asdict() == {name: getattr(model, name) for name in row._fields}
            assert [type(value) for value in row] == [type(getattr(model, name)) for name in row._fields]

    async def test_gives_nothing_for_what_is_not_there_or_cannot_be_stored(self, migrated: Database) -> None:
        assert await find(migrated, "t") is None
        for value in ("nobody", "\0", "ada\0@example.com", "\ud800", "ada@\udfffexample.com"):
            assert await migrated.reads.one(PASSWORD_BY_EMAIL, value) is None
            assert await migrated.reads.all(SESSIONS_OF_USER, value) == []

    async def test_finds_passwords_by_address_name_and_user(self, migrated: Database, ada: User) -> None:
        stamps: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
        account = Account(
            id="a", user_id=ada.id, provider_id="credential", account_id=ada.id, password="$h", **stamps
        )
        await add(migrated, ada, user("ben"), account)

        for query, value in (
            (PASSWORD_BY_EMAIL, ada.email),
            (PASSWORD_BY_USERNAME, "ada"),
            (PASSWORD_BY_USER, ada.id),
        ):
            assert await migrated.reads.one(query, value) == (ada.id, "$h")
        found = await migrated.reads.one(PASSWORD_BY_EMAIL, "ben@example.com")
        assert found is not None
        assert found.hash is None


class TestEach:
    async def test_gives_for_each_value_what_is_there(self, migrated: Database, ada: User) -> None:
        one, two = session(ada, "1"), session(ada, "2")
        await add(migrated, ada, one, two)

        asked = [tokens.digest(token) for token in ("2", "0", "1", "2")]
        found = await migrated.reads.each(SESSION_BY_DIGEST, asked)

        assert [row and row[0].id for row in found] == [two.id, None, one.id, two.id]
        assert await migrated.reads.each(SESSION_BY_DIGEST, []) == []


class TestAll:
    async def test_gives_long_lists(self, migrated: Database, ada: User) -> None:
        await add(migrated, ada)
        async with migrated.transaction() as db:
            for each in [session(ada, str(number)) for number in range(250)]:
                db.add(each)

        lists = await asyncio.gather(*(migrated.reads.all(SESSIONS_OF_USER, ada.id) for _ in range(5)))

        assert [len({row.id for row in found}) for found in lists] == [250] * 5


class TestManyAtOnce:
    async def test_everybody_gets_their_own_list(self, migrated: Database) -> None:
        users = [user(f"u{number}") for number in range(40)]
        async with migrated.transaction() as db:
            for each in users:
                db.add(each)
            await db.flush()
            for owner in users:
                for n in range(int(owner.name[1:])):
                    db.add(session(owner, f"{owner.name} {n}"))

        lists = await asyncio.gather(*(self.sessions(migrated, owner) for owner in users * 2))

        assert [len(found) for found in lists] == list(range(40)) * 2
        assert all(
            {row.user_id for row in found} <= {owner.id}
            for owner, found in zip(users * 2, lists, strict=True)
        )
        assert lists[39] is not lists[79]

    async def test_a_limit_is_that_of_each(self, migrated: Database) -> None:
        users = [user(f"u{number}") for number in range(20)]
        await add(migrated, *users)
        rows = [session(owner, f"{owner.name} {n}", user_agent=n) for owner in users[:10] for n in "xcba"]
        await add(migrated, *rows)

        lists = await asyncio.gather(*(migrated.reads.all(FIRST_TWO, owner.id) for owner in users))

        own = [[(owner.id, "a"), (owner.id, "b")] for owner in users[:10]]
        assert [sorted(map(tuple, found)) for found in lists] == [*own, *[[]] * 10]

    async def test_who_leaves_disturbs_nobody(self, migrated: Database, ada: User) -> None:
        await add(migrated, ada, session(ada, "t"))
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(find(migrated, "t")) for _ in range(50)]
        tasks += [asyncio.create_task(self.sessions(migrated, ada)) for _ in range(50)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()

        outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert all(outcomes[1::2])
        assert not [outcome for outcome in outcomes[1::2] if isinstance(outcome, BaseException)]

    async def sessions(self, database: Database, owner: User) -> list[SessionRow]:
        return await database.reads.all(SESSIONS_OF_USER, owner.id)

    async def test_nobody_sees_what_was_before_they_asked(self, migrated: Database, ada: User) -> None:
        await add(migrated, ada, session(ada, "t"))
        crowd = asyncio.create_task(self.ask_without_end(migrated))
        try:
            for number in range(20):
                async with migrated.transaction() as db:
                    await db.execute(update(User).values({col(User.name): str(number)}))

                found = await asyncio.gather(*(find(migrated, "t") for _ in range(3)))

                assert [row and row[1].name for row in found] == [str(number)] * 3
            async with migrated.transaction() as db:
                await db.execute(delete(Session))
            assert await find(migrated, "t") is None
        finally:
            crowd.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await crowd

    async def ask_without_end(self, database: Database) -> None:
        while True:
            await asyncio.gather(*(find(database, "t") for _ in range(10)))
            await asyncio.sleep(0)


class TestDefects:
    """What no waiting can mend is told as it is, whoever asks and however often, and passes when it is mended."""

    DEFECTS = pytest.mark.parametrize(
        ("statements", "mended"),
        [
            (["ALTER TABLE session RENAME TO gone"], ["ALTER TABLE gone RENAME TO session"]),
            (
                ["ALTER TABLE session RENAME COLUMN token_digest TO gone"],
                ["ALTER TABLE session RENAME COLUMN gone TO token_digest"],
            ),
        ],
        ids=["table", "column"],
    )

    @DEFECTS
    async def test_of_the_schema(self, migrated: Database, statements: list[str], mended: list[str]) -> None:
        await self.execute(migrated, statements)
        outcomes = await self.ask(migrated)
        await self.execute(migrated, mended)

        assert not [error for error in outcomes if isinstance(error, Unavailable) or error is None]
        assert not [error for error in outcomes if is_unavailable(error) or is_retryable(error)]
        assert not [error for error in outcomes if error.__cause__ is error]
        assert await find(migrated, "t") is None

    async def test_of_privileges(self, cluster: Cluster, opening: OpenDatabase) -> None:
        server = await opening(cluster.create(migrated=True))
        # A role that every server has, and that may read none of our tables.
        reads = PostgresqlReads(postgresql_connect(server.address.target, 5, role="pg_monitor"), 2, 5)

        asked: list[Any] = [reads.one(SESSION_BY_DIGEST, b""), reads.all(SESSIONS_OF_USER, "u")]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        await reads.close()

        assert [type(outcome) for outcome in outcomes] == [asyncpg.InsufficientPrivilegeError] * 2

    async def execute(self, database: Database, statements: list[str]) -> None:
        async with database.transaction() as db:
            for statement in statements:
                await db.execute(text(statement))

    async def ask(self, database: Database) -> list[Any]:
        """Return what both kinds of read fail with, several callers at once."""
        reads = database.reads
        asked: list[Any] = [reads.one(SESSION_BY_DIGEST, bytes([number])) for number in range(3)]
        asked += [reads.all(SESSIONS_BY_DIGEST, bytes([number])) for number in range(3)]
        return await asyncio.gather(*asked, return_exceptions=True)


@pytest.fixture
async def rollback_file(tmp_path: Path) -> AsyncIterator[tuple[SqliteReads, sqlite3.Connection]]:
    """Reads of a file that is not in WAL mode, so that a writer shuts readers out, and the writer."""
    path = str(tmp_path / "rollback.db")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE session (user_id, name)")
    reads = SqliteReads(path, 0.3)
    yield reads, writer
    await reads.close()
    writer.close()


NAMES: ReadStatement[Any] = ReadStatement(
    select(column("name")).select_from(table("session")).where(column("user_id") == bindparam("value")),
    lambda row: row[0],
)

KEYED: ReadStatement[Any] = ReadStatement(NAMES.statement, NAMES.from_row, key=column("user_id"))
"""The same, answered together with others."""


class TestSqlite:
    @pytest.mark.usefixtures("rollback_file")
    async def test_reads_nothing_after_the_end(self, tmp_path: Path) -> None:
        reads = SqliteReads(str(tmp_path / "rollback.db"), 1)
        await reads.close()

        with pytest.raises(Unavailable):
            await reads.one(NAMES, "u")
        with pytest.raises(Unavailable):
            await reads.two(KEYED, "u", KEYED, "v")
        with pytest.raises(Unavailable):
            await reads.each(KEYED, ["u"])
        with pytest.raises(Unavailable):
            await reads.all(NAMES, "u")

    async def test_waits_for_the_lock_elsewhere(
        self, rollback_file: tuple[SqliteReads, sqlite3.Connection]
    ) -> None:
        reads, writer = rollback_file
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO session VALUES ('u', 'n')")
        waiting = asyncio.create_task(reads.all(NAMES, "u"))
        await asyncio.sleep(0)
        writer.execute("COMMIT")

        assert await waiting == ["n"]

    async def test_gives_up_waiting(self, rollback_file: tuple[SqliteReads, sqlite3.Connection]) -> None:
        reads, writer = rollback_file
        writer.execute("BEGIN EXCLUSIVE")

        outcomes = await asyncio.gather(
            *(reads.one(NAMES, "u") for _ in range(5)), reads.each(KEYED, ["u"]), return_exceptions=True
        )

        assert [type(outcome) for outcome in outcomes] == [Unavailable] * 6
        writer.execute("ROLLBACK")
        assert await reads.one(NAMES, "u") is None
        assert await reads.each(KEYED, ["u"]) == [None]

    async def test_nobody_waits_longer_because_others_wait_in_the_thread(
        self, rollback_file: tuple[SqliteReads, sqlite3.Connection], tmp_path: Path
    ) -> None:
        reads, writer = rollback_file
        writer.execute("BEGIN EXCLUSIVE")
        many = [asyncio.ensure_future(reads.one(KEYED, str(number))) for number in range(30)]
        await asyncio.wait(many, return_when=asyncio.FIRST_COMPLETED)
        # Somebody elsewhere who comes as the first have given up waits as long as these have.
        later = SqliteReads(str(tmp_path / "rollback.db"), 0.3)

        told: list[Any] = await asyncio.gather(later.one(KEYED, "u"), return_exceptions=True)
        are_done = [asking.done() for asking in many]
        await later.close()
        writer.execute("ROLLBACK")
        outcomes = await asyncio.gather(*many, return_exceptions=True)

        assert isinstance(told[0], Unavailable)
        assert all(are_done)
        assert {type(outcome) for outcome in outcomes} == {Unavailable}

    @pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
    async def test_look_ups_that_are_answered_together_wait_for_the_lock_one_by_one(
        self, rollback_file: tuple[SqliteReads, sqlite3.Connection], end: str
    ) -> None:
        reads, writer = rollback_file
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO session VALUES ('u', 'n')")
        waiting = [asyncio.ensure_future(reads.one(KEYED, "u")) for _ in range(5)]
        waiting[1].cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        writer.execute(end)

        answers = await asyncio.gather(*waiting, return_exceptions=True)

        found = "n" if end == "COMMIT" else None
        assert [answers[0], *answers[2:]] == [found] * 4
        assert isinstance(answers[1], asyncio.CancelledError)

    @pytest.mark.parametrize(("is_freed", "outcome"), [(True, "n"), (False, Unavailable)])
    async def test_who_leaves_while_the_lock_is_waited_for_disturbs_nobody(
        self,
        tmp_path: Path,
        rollback_file: tuple[SqliteReads, sqlite3.Connection],
        is_freed: bool,
        outcome: object,
    ) -> None:
        _, writer = rollback_file
        reads = SqliteReads(str(tmp_path / "rollback.db"), 0.3)
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO session VALUES ('u', 'n')")
        leaving, staying = [asyncio.ensure_future(reads.one(KEYED, "u")) for _ in range(2)]
        for _ in range(3):
            await asyncio.sleep(0)

        leaving.cancel()
        if is_freed:
            writer.execute("COMMIT")
        await reads.close()  # What is asked again ends first; its defects end here.

        assert leaving.cancelled()
        assert (type(staying.exception()) if staying.exception() else staying.result()) == outcome

    async def test_recovers_when_the_file_is_back(self, tmp_path: Path) -> None:
        path = tmp_path / "late.db"
        reads = SqliteReads(str(path), 0.3)
        with pytest.raises(Unavailable):
            await reads.one(NAMES, "u")
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.execute("CREATE TABLE session (user_id, name)")

        assert await reads.one(NAMES, "u") is None
        await reads.close()


class TestPostgresql:
    async def test_all_connections_together_stay_within_the_pool(
        self, cluster: Cluster, opening: OpenDatabase
    ) -> None:
        server = await opening(cluster.create(migrated=True), pool_size=4)

        async def write() -> None:
            async with server.transaction() as db:
                await db.execute(text("SELECT pg_sleep(0.01)"))

        async def count() -> int:
            async with server.transaction() as db:
                sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                # Autovacuum looks at the database on a connection that is not ours.
                sql += " AND backend_type = 'client backend'"
                return int((await db.execute(text(sql))).scalar() or 0)

        work: list[Any] = [write() for _ in range(20)] + [find(server, str(n)) for n in range(20)]
        work += [server.reads.all(SESSIONS_OF_USER, str(n)) for n in range(20)]
        work += [server.search([text("SELECT pg_sleep(0.01)")], timedelta(seconds=5), is_scan=False)]
        work += [count()]
        assert (await asyncio.gather(*work))[-1] == 4

    async def test_others_have_their_turn_in_a_long_list(
        self, cluster: Cluster, opening: OpenDatabase
    ) -> None:
        server = await opening(cluster.create(migrated=True))
        numbers = func.generate_series(1, bindparam("value", type_=Integer()))
        with turns.counted() as turn:
            query: ReadStatement[int] = ReadStatement(select(numbers), lambda _: turn())
            found = Counter(await server.reads.all(query, 1600))

        assert found.total() == 1600
        assert max(found.values()) == 500

    async def test_reads_by_index_also_what_was_empty_at_first(
        self, cluster: Cluster, opening: OpenDatabase
    ) -> None:
        server = await opening(cluster.create(migrated=True))
        owner = user("ada")
        assert await find(server, "none") is None
        async with server.transaction() as db:
            db.add(owner)
            await db.flush()
            for each in [session(owner, str(number)) for number in range(2000)]:
                db.add(each)

        found = await asyncio.gather(*(find(server, str(number)) for number in range(100)))
        async with server.transaction() as db:
            await db.execute(text("SELECT pg_stat_clear_snapshot()"))
            scans = "SELECT pg_stat_get_numscans('session'::regclass)"

            assert all(found)
            assert (await db.execute(text(scans))).scalar() == 0
