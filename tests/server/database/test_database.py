"""Transactions on both databases, and what their faults are taken for."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text, update
from sqlmodel import col

from domain.errors import Unavailable
from domain.ports import Transaction
from models import User
from models.queries import PASSWORD_BY_EMAIL, SESSION_BY_DIGEST
from server.database.address import parse
from server.database.database import (
    Database,
    DatabaseAbsent,
    is_retryable,
    is_unavailable,
    open_database,
)
from server.database.migrations import prepare
from tests.postgres import Cluster
from tests.proxy import Proxy
from tests.rows import user
from tests.server.conftest import OpenDatabase

HASTY = 0.3
"""A time-out in seconds for the tests in which it passes."""


async def fault(work: Any) -> BaseException:
    """Return what the work fails with."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        await work
    return caught.value


def permissions(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


async def execute(database: Database, *statements: str) -> None:
    async with database.transaction() as session:
        for statement in statements:
            await session.execute(text(statement))


async def add(database: Database, row: Any) -> None:
    async with database.transaction() as session:
        session.add(row)


class TestParse:
    @pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
    def test_takes_every_spelling_of_postgresql(self, scheme: str) -> None:
        address = parse(f"{scheme}://ada:p%40ss@db:5433/auth?sslmode=require")

        assert address.target == "postgresql://ada:p%40ss@db:5433/auth?sslmode=require"
        assert address.label == "postgresql://ada:***@db:5433/auth"

    @pytest.mark.parametrize("scheme", ["sqlite", "sqlite+aiosqlite"])
    def test_takes_files(self, scheme: str) -> None:
        assert parse(f"{scheme}:///some/file.db").target == "some/file.db"
        assert parse(f"{scheme}:////some/file.db").target == "/some/file.db"

    @pytest.mark.parametrize(
        "url",
        ["", "nonsense", "mysql://db/auth", "sqlite://", "sqlite:///:memory:", "postgresql://db:x/auth"],
    )
    def test_refuses_what_it_cannot_use(self, url: str) -> None:
        with pytest.raises(ValueError, match=r"^the database address .*$"):
            parse(url)

    @pytest.mark.parametrize(
        "rest",
        [
            "db1,db2/auth",
            "db1:5432,db2:5433/auth",
            "[::1]:5432,[::2]:5433/auth",
            "/auth?host=db1,db2,db3&port=5432,5432,5432&target_session_attrs=read-write",
            "/auth?host=db1%2Cdb2",
            "db1/auth?port=5432,5433",
        ],
    )
    def test_refuses_several_hosts_and_says_what_to_do(self, rest: str) -> None:
        with pytest.raises(
            ValueError, match=r"^the database address names several hosts; .* proxy"
        ) as refusal:
            parse(f"postgresql://ada:hu,sh@{rest}")

        assert "hu,sh" not in str(refusal.value)
        assert "\n" not in str(refusal.value)

    def test_takes_commas_where_they_name_no_host(self) -> None:
        address = parse("postgresql://ada:hu,sh@db/a,b?options=-c%20search_path=a,b")

        assert address.label == "postgresql://ada:***@db/a%2Cb"
        assert parse("sqlite:///a,b.db").target == "a,b.db"


class TestTransactions:
    async def test_keep_what_they_wrote(self, migrated: Database) -> None:
        await add(migrated, user("ada"))

        assert await migrated.reads.one(PASSWORD_BY_EMAIL, "ada@example.com")

    async def test_leave_nothing_behind_after_an_exception(self, migrated: Database) -> None:
        async def fail() -> None:
            async with migrated.transaction() as session:
                session.add(user("ada"))
                await session.flush()
                raise KeyError

        with pytest.raises(KeyError):
            await fail()

        assert await migrated.reads.one(PASSWORD_BY_EMAIL, "ada@example.com") is None

    async def test_can_be_begun_by_hand(self, migrated: Database) -> None:
        session = migrated.begin()
        session.add(user("ada"))
        await session.commit()
        await session.close()

        assert await migrated.reads.one(PASSWORD_BY_EMAIL, "ada@example.com")

    async def test_refuse_rows_without_their_user(self, migrated: Database) -> None:
        orphan = "INSERT INTO account VALUES (1, 1, 'a', 'nobody', 'credential', '', 'nobody', NULL)"
        if migrated.dialect == "postgresql":
            orphan = orphan.replace("1, 1", "now(), now()")
        error = await fault(execute(migrated, orphan))

        assert not is_unavailable(error)
        assert not is_retryable(error)

    async def test_lose_no_update(self, migrated: Database) -> None:
        await add(migrated, user("0"))

        async def count() -> None:
            async with migrated.transaction() as session:
                found = (await session.execute(text('SELECT name FROM "user"' + lock))).scalar()
                await session.execute(update(User).values({col(User.name): str(int(found) + 1)}))

        lock = " FOR UPDATE" if migrated.dialect == "postgresql" else ""
        await asyncio.gather(*(count() for _ in range(20)))

        async with migrated.transaction() as session:
            assert (await session.execute(text('SELECT name FROM "user"'))).scalar() == "20"

    async def test_violated_constraints_are_no_fault_of_the_database(self, migrated: Database) -> None:
        await add(migrated, user("ada"))
        error = await fault(add(migrated, user("ada")))

        assert not is_unavailable(error)
        assert not is_retryable(error)

    async def test_errors_show_no_values(self, migrated: Database) -> None:
        await add(migrated, user("ada", image="hush"))

        assert "hush" not in str(await fault(add(migrated, user("ada", image="hush"))))


class TestTimeouts:
    async def test_waiting_for_a_connection(self, empty_url: str, opening: OpenDatabase) -> None:
        database = await opening(empty_url, pool_size=3, timeout=HASTY)

        async with database.transaction() as session:
            await session.execute(text("SELECT 1"))
            assert is_unavailable(await fault(execute(database, "SELECT 1")))
        await execute(database, "SELECT 1")

    async def test_a_cancelled_transaction_gives_its_connection_back(
        self, empty_url: str, opening: OpenDatabase
    ) -> None:
        database = await opening(empty_url, pool_size=3)
        begun = asyncio.Event()

        async def hold(session: Transaction) -> None:
            await session.execute(text("SELECT 1"))
            begun.set()
            await asyncio.Event().wait()

        async def work() -> None:
            async with database.transaction() as session:
                await hold(session)

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])

        await execute(database, "SELECT 1")


class TestFaults:
    def test_of_an_error_that_is_its_own_cause_are_told_in_the_end(self) -> None:
        error, other = KeyError(), ValueError()
        error.__cause__, other.__cause__ = error, error
        error.__cause__ = other

        for circular in (error, other):
            assert not is_unavailable(circular)
            assert not is_retryable(circular)


class TestAbsent:
    async def test_sqlite_without_its_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DatabaseAbsent, match=r"^the database sqlite:///.* cannot be used .*$"):
            await open_database(f"sqlite:///{tmp_path}/none/file.db", pool_size=5, timeout=1, patience=0)

    async def test_postgresql_without_server(self) -> None:
        url = "postgresql://ada:hush@127.0.0.1:1/auth"

        with pytest.raises(DatabaseAbsent) as absence:
            await open_database(url, pool_size=5, timeout=1, patience=0)

        assert "\n" not in str(absence.value)
        assert "127.0.0.1:1" in str(absence.value)
        assert "hush" not in str(absence.value)

    async def test_postgresql_without_the_database(self, cluster: Cluster) -> None:
        with pytest.raises(DatabaseAbsent, match="does not exist"):
            await open_database(cluster.url("absent"), pool_size=5, timeout=1, patience=0)

    async def test_too_few_connections(self, cluster: Cluster) -> None:
        with pytest.raises(ValueError, match="at least 3"):
            await open_database(cluster.url(), pool_size=2, timeout=1, patience=0)

    async def test_a_new_sqlite_file_is_its_owners_alone(self, tmp_path: Path, opening: OpenDatabase) -> None:
        database = await opening(f"sqlite:///{tmp_path}/new.db")
        await execute(database, "CREATE TABLE t (x INTEGER)")

        modes = permissions(tmp_path)

        assert modes["new.db"] == 0o600
        assert set(modes.values()) == {0o600}

    async def test_waits_for_one_that_comes(self, tmp_path: Path) -> None:
        folder = tmp_path / "late"
        opening = asyncio.create_task(
            open_database(f"sqlite:///{folder}/file.db", pool_size=5, timeout=1, patience=30)
        )
        await asyncio.sleep(0)
        folder.mkdir()

        await (await opening).close()


@pytest.fixture
async def file(tmp_path: Path, opening: OpenDatabase) -> Database:
    """A migrated SQLite file with a short time-out."""
    database = await opening(f"sqlite:///{tmp_path / 'gatewright.db'}", timeout=HASTY)
    await prepare(database, "auto")
    return database


class TestSqlite:
    async def test_is_set_up_for_many_readers_and_one_writer(self, file: Database) -> None:
        async with file.transaction() as session:
            pragmas = ("journal_mode", "synchronous", "foreign_keys")
            values = [(await session.execute(text(f"PRAGMA {pragma}"))).scalar() for pragma in pragmas]

        assert values == ["wal", 1, 1]

    async def test_locked_by_another_process(self, file: Database) -> None:
        other = sqlite3.connect(file.address.target, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        # Those who wait behind the first must not wait for the lock once more when their turn comes.
        errors = await asyncio.gather(*(fault(add(file, user(f"u{number}"))) for number in range(5)))
        assert all(is_unavailable(error) for error in errors)
        assert await file.reads.one(PASSWORD_BY_EMAIL, "u1@example.com") is None
        other.execute("ROLLBACK")
        await add(file, user("ada"))
        other.close()

    async def test_full_disk_leaves_the_reads(self, file: Database) -> None:
        await add(file, user("ada"))
        async with file.transaction() as session:
            pages = (await session.execute(text("PRAGMA page_count"))).scalar()
            await session.execute(text(f"PRAGMA max_page_count = {pages}"))

        assert is_unavailable(await fault(add(file, user("ben", image="x" * 100_000))))
        assert await file.reads.one(PASSWORD_BY_EMAIL, "ada@example.com")

    async def test_read_only(self, file: Database) -> None:
        async with file.transaction() as db:
            await db.execute(text("PRAGMA query_only = ON"))

        assert is_unavailable(await fault(add(file, user("ada"))))
        assert await file.reads.one(PASSWORD_BY_EMAIL, "ada@example.com") is None


@pytest.fixture
async def server(cluster: Cluster, opening: OpenDatabase) -> Database:
    """A migrated PostgreSQL database with a short time-out."""
    return await opening(cluster.create(migrated=True), timeout=HASTY)


class TestPostgresql:
    async def test_statement_timeout(self, server: Database) -> None:
        assert is_unavailable(await fault(execute(server, "SELECT pg_sleep(60)")))
        await execute(server, "SELECT 1")

    async def test_serialization_fault_is_worth_a_second_try(self, server: Database) -> None:
        await add(server, user("ada"))

        async def change() -> None:
            async with server.transaction() as session:
                await session.execute(text("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"))
                await session.execute(text('SELECT * FROM "user"'))
                await barrier.wait()
                await session.execute(text("""UPDATE "user" SET name = 'x'"""))

        barrier = asyncio.Barrier(2)
        outcomes = await asyncio.gather(change(), change(), return_exceptions=True)

        (error,) = [outcome for outcome in outcomes if outcome is not None]
        assert is_retryable(error)
        assert not is_unavailable(error)

    async def test_deadlock_is_worth_a_second_try(self, cluster: Cluster, opening: OpenDatabase) -> None:
        server = await opening(cluster.create(migrated=True))
        await add(server, user("ada", id="a"))
        await add(server, user("ben", id="b"))

        async def change(*ids: str) -> None:
            async with server.transaction() as session:
                for turn in ids:
                    await session.execute(
                        update(User).where(col(User.id) == turn).values({col(User.name): "x"})
                    )
                    await barrier.wait() if turn == ids[0] else None

        barrier = asyncio.Barrier(2)
        outcomes = await asyncio.gather(change("a", "b"), change("b", "a"), return_exceptions=True)

        (error,) = [outcome for outcome in outcomes if outcome is not None]
        assert is_retryable(error)
        assert not is_unavailable(error)

    async def test_read_only(self, server: Database) -> None:
        error = await fault(execute(server, "SET TRANSACTION READ ONLY", "DELETE FROM lease"))

        assert is_unavailable(error)

    async def test_broken_connections_are_replaced_unseen(self, server: Database) -> None:
        await execute(server, "SELECT 1")
        assert await server.reads.one(SESSION_BY_DIGEST, b"") is None
        async with server.transaction() as session:
            # It waits until they are gone.
            others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            where = " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            await session.execute(text(others + where))
        async with server.transaction() as session, server.transaction() as another:
            await session.execute(text("SELECT 1"))
            await another.execute(text("SELECT 1"))

        assert await server.reads.one(SESSION_BY_DIGEST, b"") is None
        assert await server.reads.one(PASSWORD_BY_EMAIL, "") is None


class TestRestart:
    async def test_faults_while_it_is_down_and_none_after(self, opening: OpenDatabase) -> None:
        cluster = Cluster(given=None)
        cluster.start()
        try:
            server = await opening(cluster.create(migrated=True))
            assert await server.reads.one(SESSION_BY_DIGEST, b"") is None
            cluster.halt()
            assert is_unavailable(await fault(execute(server, "SELECT 1")))
            with pytest.raises(Unavailable):
                await server.reads.one(SESSION_BY_DIGEST, b"")
            cluster.resume()

            await execute(server, "SELECT 1")
            assert await server.reads.one(SESSION_BY_DIGEST, b"") is None
        finally:
            cluster.stop()


class TestSilence:
    async def test_ends_with_the_timeout_and_passes(self, cluster: Cluster, opening: OpenDatabase) -> None:
        real = make_url(cluster.create(migrated=True))
        proxy = Proxy(real.host or "127.0.0.1", real.port or 5432)
        silent = real.set(host="127.0.0.1", port=await proxy.start())
        # Time enough for a look-up that is answered on a busy machine, too.
        server = await opening(silent.render_as_string(hide_password=False), timeout=HASTY * 5)
        try:
            assert await server.reads.one(SESSION_BY_DIGEST, b"") is None
            proxy.freeze()
            work = [fault(execute(server, "SELECT 1")) for _ in range(8)]
            work += [fault(server.reads.one(SESSION_BY_DIGEST, bytes([n]))) for n in range(8)]
            work += [fault(server.reads.one(PASSWORD_BY_EMAIL, str(n))) for n in range(8)]
            assert all(
                is_unavailable(error) or isinstance(error, Unavailable)
                for error in await asyncio.gather(*work)
            )
            proxy.thaw()

            await execute(server, "SELECT 1")
            assert await server.reads.one(SESSION_BY_DIGEST, b"") is None
        finally:
            await proxy.stop()
