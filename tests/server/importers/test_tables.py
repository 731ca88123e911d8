"""Sources that cannot be read, and tables and values that ORMs spell in their own ways."""

import sqlite3
from pathlib import Path

import pytest

from server.importers.fastapi_users import fastapi_users
from server.importers.source import SourceRefused
from server.importers.tables import PAGE, SourceDatabase, opened
from tests.postgres import Cluster
from tests.server.importers.moving import HASH, counts, take
from tests.service import Service

ELSEWHERE = "sqlite:///elsewhere.db"
USERS = (
    "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT, hashed_password TEXT, is_active INTEGER,"
    " is_superuser INTEGER, is_verified INTEGER, created_at INTEGER)"
)


def database(path: Path, *statements: str) -> str:
    """Make a SQLite file; give its address."""
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return f"sqlite:///{path}"


async def refused(url: str, own: str = ELSEWHERE) -> str:
    """Return why a source is refused."""
    with pytest.raises(SourceRefused) as caught:
        async with opened(url, own) as source:
            await fastapi_users(source)
    return str(caught.value)


class TestRefused:
    async def test_what_is_no_database_address(self) -> None:
        assert await refused("mysql://somewhere/users") == (
            "--from: the database address begins with mysql://; it takes postgresql:// or sqlite:///"
        )

    async def test_a_file_that_is_absent_is_not_made(self, tmp_path: Path) -> None:
        path = tmp_path / "absent.db"

        reason = await refused(f"sqlite:///{path}")

        assert reason == f"--from: the file {path} does not exist"
        assert not path.exists()

    async def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        path = tmp_path / "users.txt"
        path.write_text("no database at all, but long enough to have a header" * 10, "utf-8")

        assert (
            await refused(f"sqlite:///{path}") == f"sqlite:///{path} cannot be read: file is not a database"
        )

    async def test_a_server_that_is_not_there(self) -> None:
        reason = await refused("postgresql://ada:hunter2@127.0.0.1:1/users")

        assert reason.startswith("postgresql://ada:***@127.0.0.1:1/users cannot be opened: ")

    async def test_a_table_or_a_column_that_is_missing(self, tmp_path: Path) -> None:
        without_table = database(tmp_path / "a.db", "CREATE TABLE other (id TEXT)")
        without_column = database(tmp_path / "b.db", "CREATE TABLE user (id TEXT, email TEXT)")

        assert await refused(without_table) == f"{without_table} has no table user"
        assert (
            await refused(without_column)
            == f"the table user of {without_column} has no column hashed_password"
        )

    async def test_users_without_an_id(self, tmp_path: Path, service: Service) -> None:
        url = database(
            tmp_path / "a.db",
            USERS.replace("INTEGER PRIMARY KEY", "TEXT"),
            f"INSERT INTO users VALUES (NULL, 'ada@example.com', '{HASH}', 1, 0, 0, 0)",
        )
        async with opened(url, ELSEWHERE) as source:
            users = await fastapi_users(source)

            with pytest.raises(SourceRefused, match="has users without an id"):
                await take(service, users)

    async def test_the_service_s_own_database_and_any_gatewright(self, service: Service) -> None:
        own = service.services.settings.database_url.get_secret_value()

        assert await refused(own, own) == "the source is the database of this service itself"
        assert "is a Gatewright database" in await refused(own)

    async def test_its_own_database_under_another_name(self, cluster: Cluster, tmp_path: Path) -> None:
        url = database(tmp_path / "a.db", "CREATE TABLE other (id TEXT)")
        (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
        server = cluster.url("nowhere")

        for other, own in (
            (f"sqlite:///{tmp_path / 'b.db'}", url),
            (server.replace("127.0.0.1", "localhost"), server),
        ):
            assert await refused(other, own) == "the source is the database of this service itself"


class TestReading:
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        rows = [
            f"INSERT INTO users VALUES ({number}, 'user{number}@example.com', '{HASH}', 1, 0, 1, 1700000000)"
            for number in range(1, 2 * PAGE + 2)
        ]
        return database(tmp_path / "many.db", "PRAGMA journal_mode = WAL", USERS, *rows)

    async def test_page_after_page_in_one_snapshot(self, url: str, tmp_path: Path) -> None:
        async with opened(url, ELSEWHERE) as source:
            users = source.table("user", ["id"])
            seen = 0
            sizes: list[int] = []
            async for page in source.pages(users):
                seen, sizes = seen + len(page), [*sizes, len(page)]
                _add_one(tmp_path / "many.db", seen + 100_000)
                if len(sizes) > 3:
                    break  # Otherwise each page would be followed by the row that was added meanwhile.

        assert sizes == [PAGE, PAGE, 1]

    async def test_numbers_as_ids_and_seconds_as_instants(self, url: str, service: Service) -> None:
        async with opened(url, ELSEWHERE) as source:
            first = await take(service, await fastapi_users(source))
            second = await take(service, await fastapi_users(source))

        stored = await service.rows('SELECT id FROM "user"')
        assert (counts(first), counts(second)) == ((401, 0, 0), (0, 401, 0))
        assert len({row.id for row in stored}) == 401
        assert {len(row.id) for row in stored} == {32}

    async def test_what_is_no_text_is_one_row_s_problem(self, tmp_path: Path, service: Service) -> None:
        url = database(
            tmp_path / "a.db",
            USERS,
            f"INSERT INTO users VALUES (1, CAST(x'ff40' AS TEXT), '{HASH}', 1, 0, 0, 0)",
            f"INSERT INTO users VALUES (2, 'ada@example.com', '{HASH}', 1, 0, 0, 'yesterday')",
            f"INSERT INTO users VALUES (3, 'bob@example.com', '{HASH}', 2, 0, 0, 0)",
            "INSERT INTO users VALUES (4, 'eve@example.com', x'00ff', 1, 0, 0, 0)",
            f"INSERT INTO users VALUES (5, 'carol@example.com', '{HASH}', 1, 0, 0, 1700000000123)",
        )

        async with opened(url, ELSEWHERE) as source:
            report = await take(service, await fastapi_users(source))

        [carol] = await service.rows('SELECT email, created_at FROM "user"')
        assert carol.email == "carol@example.com"
        assert dict(report.refused) == {
            "email: contains U+0000 or an unpaired surrogate": 1,
            "createdAt: must be a time such as 2026-01-31T12:00:00.000Z": 1,
            "banned: must be true or false": 1,
            "passwordHash: must be text": 1,
        }

    async def test_it_is_only_read(self, url: str, tmp_path: Path) -> None:
        async with opened(url, ELSEWHERE) as source:
            with pytest.raises(SourceRefused, match="readonly"):
                await _write(source)


def _add_one(path: Path, number: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(
            f"INSERT INTO users VALUES ({number}, 'new{number}@example.com', '{HASH}', 1, 0, 1, 1700000000)"
        )
    connection.close()


async def _write(source: SourceDatabase) -> None:
    users = source.table("user", ["id"])
    await source._read(users.clause.insert().values(id=1).returning(users.columns["id"]))  # type: ignore[arg-type]
