"""Transactions on both databases, and what their faults are taken for."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from models.account import PASSWORD_BY_EMAIL
from server.database.address import parse
from server.database.database import Database, DatabaseAbsent, open_database
from server.database.errors import is_retryable, is_unavailable
from tests.postgres import Cluster
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
    async def test_leave_nothing_behind_after_an_exception(self, migrated: Database) -> None:
        async def fail() -> None:
            async with migrated.transaction() as session:
                session.add(user("ada"))
                await session.flush()
                raise KeyError

        with pytest.raises(KeyError):
            await fail()

        assert await migrated.reads.one(PASSWORD_BY_EMAIL, "ada@example.com") is None

    async def test_refuse_rows_without_their_user(self, migrated: Database) -> None:
        orphan = "INSERT INTO account VALUES (1, 1, 'a', 'nobody', 'credential', '', 'nobody', NULL)"
        if migrated.dialect == "postgresql":
            orphan = orphan.replace("1, 1", "now(), now()")
        error = await fault(execute(migrated, orphan))

        assert not is_unavailable(error)
        assert not is_retryable(error)

    async def test_wait_for_a_connection_no_longer_than_they_may(
        self, empty_url: str, opening: OpenDatabase
    ) -> None:
        database = await opening(empty_url, pool_size=3, timeout=HASTY)

        async with database.transaction() as session:
            await session.execute(text("SELECT 1"))
            assert is_unavailable(await fault(execute(database, "SELECT 1")))
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
async def file(tmp_path: Path, migrated_file: Path, opening: OpenDatabase) -> Database:
    """A SQLite file with the current schema."""
    return await opening(f"sqlite:///{shutil.copy(migrated_file, tmp_path)}")


class TestSqlite:
    async def test_is_set_up_for_many_readers_and_one_writer(self, file: Database) -> None:
        async with file.transaction() as session:
            pragmas = ("journal_mode", "synchronous", "foreign_keys")
            values = [(await session.execute(text(f"PRAGMA {pragma}"))).scalar() for pragma in pragmas]

        assert values == ["wal", 1, 1]

    @pytest.mark.parametrize("limit", ["max_page_count = 1", "query_only = ON"], ids=["full", "read-only"])
    async def test_one_that_cannot_be_written_can_be_read(self, file: Database, limit: str) -> None:
        await add(file, user("ada"))
        await execute(file, f"PRAGMA {limit}")

        error = await fault(add(file, user("ben", image="hush" * 25_000)))

        assert is_unavailable(error)
        assert "hush" not in str(error)
        assert await file.reads.one(PASSWORD_BY_EMAIL, "ada@example.com")
        assert await file.reads.one(PASSWORD_BY_EMAIL, "ben@example.com") is None
