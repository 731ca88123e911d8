"""Every migration goes up, gives the schema of the models, and goes down again, on both databases."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config, main
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import IntegrityError

import models
from models import Audit, metadata
from models.daily_count import DailyCount
from models.migrations import versions
from models.statements import insert, table_of
from models.user import BY_DIALECT
from server.database.database import Database, open_database
from server.database.migrations import prepare, run_alone

ROOT = Path(models.__file__).parent.parent
SETTINGS = str(ROOT / "pyproject.toml")


@pytest.fixture
def empty_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if dialect == "sqlite":
        return f"sqlite:///{tmp_path / 'gatewright.db'}"
    return str(request.getfixturevalue("cluster").create())


@pytest.fixture
async def database(empty_url: str) -> AsyncIterator[Database]:
    database = await open_database(empty_url, pool_size=3, timeout=5)
    yield database
    await database.close()


def config(connection: Connection) -> Config:
    made = Config(toml_file=SETTINGS)
    made.attributes["connection"] = connection
    return made


def upgrade(connection: Connection, revision: str = "head") -> None:
    command.upgrade(config(connection), revision)


def in_models(_thing: Any, name: str | None, *_: Any) -> bool:
    return name not in BY_DIALECT


def differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "compare_server_default": True, "include_object": in_models}
    )
    return list(compare_metadata(context, metadata))


def constraints(connection: Connection) -> dict[str, Any]:
    """What compare_metadata does not look at: the names of keys, and what happens to rows that refer to others."""
    found = inspect(connection)
    return {
        table: (
            found.get_pk_constraint(table)["name"],
            sorted((str(key["name"]), str(key["options"])) for key in found.get_foreign_keys(table)),
        )
        for table in metadata.tables
    }


def start_of_day() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


class TestMigrations:
    async def test_give_the_schema_of_the_models(self, database: Database) -> None:
        """With the indexes of one kind of database, and with keys that have the same names and cascades."""
        different, indexes, migrated, created = [], list[Any](), [], []

        def work(connection: Connection) -> None:
            upgrade(connection)
            different.extend(differences(connection))
            table = "sqlite_master" if connection.dialect.name == "sqlite" else "pg_indexes"
            column = "name" if table == "sqlite_master" else "indexname"
            indexes.extend(connection.exec_driver_sql(f"SELECT {column} FROM {table}").scalars())
            migrated.append(constraints(connection))
            metadata.drop_all(connection)
            metadata.create_all(connection)
            created.append(constraints(connection))

        assert await run_alone(database, work)
        assert different == []
        assert set(indexes) >= (BY_DIALECT if database.dialect == "postgresql" else {"ix_user_name_id"})
        assert migrated == created

    async def test_go_down_and_up_again_one_by_one(self, database: Database) -> None:
        left, different = [], []

        def work(connection: Connection) -> None:
            upgrade(connection)
            for _ in list(Path(str(versions.__file__)).parent.glob("0*.py")):
                command.downgrade(config(connection), "-1")
            left.extend(inspect(connection).get_table_names())
            upgrade(connection)
            different.extend(differences(connection))

        assert await run_alone(database, work)
        assert left == ["alembic_version"]
        assert different == []

    async def test_are_drafted_so_that_they_run(self, database: Database, tmp_path: Path) -> None:
        """An empty database that claims to be up to date makes the draft one of all tables."""
        different = []

        def work(connection: Connection) -> None:
            made = config(connection)
            made.set_main_option("path_separator", "os")
            made.set_main_option("version_locations", f"{versions.__path__[0]}{os.pathsep}{tmp_path}")
            command.stamp(made, "head")
            command.revision(made, autogenerate=True, version_path=str(tmp_path))
            [draft] = tmp_path.glob("*.py")
            with Operations.context(MigrationContext.configure(connection)):
                run_path(str(draft))["upgrade"]()
            different.extend(differences(connection))

        assert await run_alone(database, work)
        assert different == []

    async def test_count_the_events_of_the_last_31_days_once(self, database: Database) -> None:
        today = start_of_day()
        events: list[tuple[datetime, str, str | None, str | None]] = [
            (today + timedelta(seconds=1), "sign_in.succeeded", "password", None),
            (today + timedelta(seconds=2), "sign_in.succeeded", "password", None),
            (today - timedelta(seconds=1), "sign_in.succeeded", "password", None),
            (today - timedelta(days=30), "sign_in.failed", None, "X"),
            (today - timedelta(days=30, seconds=1), "sign_in.failed", None, "X"),
        ]
        assert await run_alone(database, lambda connection: upgrade(connection, "0011"))
        async with database.transaction() as db:
            for number, (time, event, method, code) in enumerate(events):
                values = {"id": str(number), "time": time, "event": event, "method": method, "code": code}
                await db.execute(insert(Audit), **values, outcome="success", details={})

        await prepare(database, "auto")

        async with database.transaction() as db:
            counted = await db.execute(select(*table_of(DailyCount).columns))
        first, *others = [
            (today - timedelta(days=30), "sign_in.failed", "", "X", 1),
            (today - timedelta(days=1), "sign_in.succeeded", "password", "", 1),
            (today, "sign_in.succeeded", "password", "", 2),
        ]
        found = sorted(tuple(row) for row in counted)
        # At midnight, the first of these days is no longer one of the last 31.
        assert found == [first, *others] or (start_of_day() > today and found == others)

    async def test_keep_the_keys_that_users_have(self, database: Database) -> None:
        """0018 gives keys another owner: it copies the table on SQLite, and checks it on PostgreSQL."""
        key = (
            "INSERT INTO api_key (id, digest, kind, user_id, enabled, rate_limit_enabled, rate_limit_window_ms,"
            " rate_limit_max, request_count, created_at, updated_at)"
            " SELECT 'k', :digest, 'default', id, :true, :false, 1, 1, 0, created_at, updated_at FROM \"user\""
        )
        user = (
            'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at,'
            " updated_at) VALUES ('u', '', 'ada@example.com', :true, :false, 'user', :false, :now, :now)"
        )
        columns = "SELECT id, digest, kind, user_id, enabled, request_count, created_at FROM api_key"
        now: Any = datetime(2026, 1, 1, tzinfo=UTC) if database.dialect == "postgresql" else 1767225600000
        found = []

        def work(connection: Connection) -> None:
            upgrade(connection, "0017")
            values = {"digest": b"d" * 32, "true": True, "false": False, "now": now}
            for statement in (user, key):
                connection.execute(text(statement), {name: value for name, value in values.items()
                                                     if f":{name}" in statement})  # fmt: skip
            found.append(tuple(connection.execute(text(columns)).one()))

        def see(connection: Connection) -> None:
            found.append(tuple(connection.execute(text(columns)).one()))
            for owners in ("user_id = NULL", "organization_id = 'x'"):
                with pytest.raises(IntegrityError), connection.begin_nested():
                    connection.execute(text(f"UPDATE api_key SET {owners}"))

        assert await run_alone(database, work)
        await prepare(database, "auto")
        assert await run_alone(database, see)

        assert found[0] == found[1]

    async def test_keep_sessions_that_refer_to_other_sessions(self, database: Database) -> None:
        """0016 copies the table of sessions on SQLite, where the deletion of the first table must not cascade."""
        values: Any = {
            "digest": b"d",
            "now": datetime(2026, 1, 1, tzinfo=UTC) if database.dialect == "postgresql" else 1767225600000,
        }
        user = (
            'INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at,'
            " updated_at) VALUES ('u', '', 'ada@example.com', true, false, 'user', false, :now, :now)"
        )
        session = (
            "INSERT INTO session (id, user_id, token_digest, remembered, method, expires_at, created_at, updated_at,"
            " impersonated_by, impersonator_session_id)"
        )
        administrator = f"{session} VALUES ('s', 'u', :digest, true, '', :now, :now, :now, NULL, NULL)"
        impersonation = f"{session} VALUES ('i', 'u', 'i', true, '', :now, :now, :now, 'u', 's')"
        found: list[Any] = []

        def work(connection: Connection) -> None:
            upgrade(connection, "0015")
            for statement in (user, administrator, impersonation):
                used = {name: value for name, value in values.items() if f":{name}" in statement}
                connection.execute(text(statement), used)

        def see(connection: Connection) -> None:
            found.extend(connection.execute(text("SELECT id FROM session ORDER BY id")).scalars())
            if connection.dialect.name == "sqlite":
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []

        assert await run_alone(database, work)
        await prepare(database, "auto")
        assert await run_alone(database, see)

        assert found == ["i", "s"]

    def test_know_nothing_of_the_models(self) -> None:
        sources = [path.read_text() for path in Path(str(versions.__file__)).parent.glob("*.py")]

        assert not [source for source in sources if "import models" in source or "from models" in source]


class TestCommandLine:
    def test_migrates_checks_and_takes_back(self, empty_url: str) -> None:
        for words in (["upgrade", "head"], ["check"], ["downgrade", "base"]):
            main(["-c", SETTINGS, "-x", f"url={empty_url}", *words])

    def test_prints_sql(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["-c", SETTINGS, "-x", "url=postgresql://unused", "upgrade", "head", "--sql"])

        assert "expires_at TIMESTAMP WITH TIME ZONE NOT NULL" in capsys.readouterr().out

    def test_asks_for_the_database(self) -> None:
        with pytest.raises(SystemExit):
            main(["-c", SETTINGS, "upgrade", "head"])
