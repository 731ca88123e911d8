"""The schema at start: one instance migrates, the others wait; a schema from the future is refused."""

import asyncio

import pytest
from sqlalchemy import text

from models import metadata
from server.database.database import Database
from server.database.migrations import add_search_indexes, prepare, run_alone
from server.database.schema import Mode, SchemaRefused, current_is_head, head, is_usable
from tests.models.test_migrations import upgrade
from tests.server.conftest import OpenDatabase


async def set_revision(database: Database, revision: str) -> None:
    async with database.transaction() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = :revision"), revision=revision)


class TestEmpty:
    """What the commands do: they may come before the service, and must not migrate under it."""

    async def test_brings_an_empty_database_to_the_head(self, empty_url: str, opening: OpenDatabase) -> None:
        database = await opening(empty_url)

        await prepare(database, "empty")

        assert await current_is_head(database)

    async def test_refuses_an_older_schema_and_changes_nothing(self, migrated: Database) -> None:
        await set_revision(migrated, "0001")

        with pytest.raises(SchemaRefused, match="at 0001"):
            await prepare(migrated, "empty")

        assert not await current_is_head(migrated)


class TestAuto:
    async def test_migrates_once_however_many_start(self, empty_url: str, opening: OpenDatabase) -> None:
        instances = [await opening(empty_url) for _ in range(5)]

        await asyncio.gather(*(prepare(instance, "auto") for instance in instances))

        assert await current_is_head(instances[0])
        async with instances[0].transaction() as session:
            assert (await session.execute(text("SELECT version_num FROM alembic_version"))).scalars() == [
                head()
            ]

    async def test_gives_up_waiting_for_another_instance(self, empty_url: str, opening: OpenDatabase) -> None:
        one = await opening(empty_url)
        # On SQLite a start waits this long for the lock. On PostgreSQL it does not wait for it, but all else has this
        # limit, such as opening a connection, which takes a busy machine more than a short one.
        other = await opening(empty_url, timeout=1 if one.dialect == "sqlite" else 30)
        lock = (
            "SELECT 1"
            if one.dialect == "sqlite"
            else "SELECT pg_advisory_xact_lock(x'6761746577726967'::bigint)"
        )

        async with one.transaction() as session:
            await session.execute(text(lock))
            with pytest.raises(SchemaRefused, match="another instance"):
                await prepare(other, "auto", patience=0.1)


class TestCurrentIsHead:
    async def test_says_no_once_the_schema_is_gone(self, migrated: Database) -> None:
        before = await current_is_head(migrated)
        async with migrated.transaction() as session:
            await session.execute(text("DROP TABLE alembic_version"))

        assert [before, await current_is_head(migrated)] == [True, False]

    async def test_hides_no_other_defect(self, migrated: Database) -> None:
        async with migrated.transaction() as session:
            await session.execute(text("ALTER TABLE alembic_version RENAME COLUMN version_num TO gone"))

        with pytest.raises(Exception, match="version_num"):
            await current_is_head(migrated)


async def run(database: Database, *statements: str) -> None:
    """Change the schema behind the program's back."""
    async with database.transaction() as session:
        for statement in statements:
            await session.execute(text(statement))


def drop(database: Database, *tables: str) -> list[str]:
    """Return what drops tables, whatever refers to them."""
    cascade = " CASCADE" if database.dialect == "postgresql" else ""
    return [f'DROP TABLE "{table}"{cascade}' for table in tables]


MODES: tuple[Mode, ...] = ("auto", "empty", "check")


class TestEveryMode:
    async def test_leaves_a_current_schema_alone(self, migrated: Database) -> None:
        for mode in MODES:
            await prepare(migrated, mode)

        assert await current_is_head(migrated)

    async def test_refuses_a_newer_schema(self, migrated: Database) -> None:
        await set_revision(migrated, "9999")

        for mode in MODES:
            with pytest.raises(SchemaRefused, match=r"is at 9999, .* newer than the program") as refusal:
                await prepare(migrated, mode)
            assert "\n" not in str(refusal.value)
        assert not await current_is_head(migrated)


class TestDamaged:
    """A database that was restored by halves, say: a start ends with one line, and changes nothing."""

    @pytest.mark.parametrize(
        "damage",
        [
            ["DELETE FROM alembic_version"],
            ["DROP TABLE alembic_version"],
            ["DELETE FROM alembic_version", 'DROP TABLE "lease"'],
            [
                "UPDATE alembic_version SET version_num = '0001'",
                "INSERT INTO alembic_version VALUES ('0002')",
            ],
        ],
    )
    async def test_refuses_tables_of_which_no_revision_is_known(
        self, migrated: Database, damage: list[str]
    ) -> None:
        await run(migrated, *damage)

        for mode in MODES:
            with pytest.raises(SchemaRefused, match="alembic_version does not say") as refusal:
                await prepare(migrated, mode)
            assert "\n" not in str(refusal.value)

    async def test_names_the_tables_that_are_missing(self, migrated: Database) -> None:
        await run(migrated, *drop(migrated, "lease", "backup_code"))

        for mode in MODES:
            with pytest.raises(SchemaRefused, match=r"lacks the tables backup_code, lease:") as refusal:
                await prepare(migrated, mode)
            assert "\n" not in str(refusal.value)
        assert not await current_is_head(migrated)
        assert not await is_usable(migrated)


class TestDamagedAndOld:
    @pytest.mark.parametrize("table", ["session", "user"])
    async def test_is_refused_and_stays_as_it_is(
        self, empty_url: str, opening: OpenDatabase, table: str
    ) -> None:
        """Some migrations change a table that is missing, and others do not need it."""
        database = await opening(empty_url)
        await run_alone(database, lambda connection: upgrade(connection, "0001"))
        await run(database, *drop(database, table))

        with pytest.raises(SchemaRefused, match=r"lacks (the|a) table") as refusal:
            await prepare(database, "auto")

        assert "\n" not in str(refusal.value)
        async with database.transaction() as session:
            assert (await session.execute(text("SELECT version_num FROM alembic_version"))).scalars() == [
                "0001"
            ]

    async def test_one_without_any_table_is_empty(self, migrated: Database) -> None:
        names = [table.name for table in reversed(metadata.sorted_tables)]
        await run(migrated, "DELETE FROM alembic_version", *drop(migrated, *names))

        await prepare(migrated, "empty")

        assert await current_is_head(migrated)


class TestSearchIndexes:
    """The indexes for parts of names and addresses."""

    async def test_are_created_once_and_used(self, migrated: Database, dialect: str) -> None:
        if dialect == "sqlite":
            with pytest.raises(SchemaRefused, match="only PostgreSQL"):
                await add_search_indexes(migrated)
            return
        for _ in range(2):
            await add_search_indexes(migrated)

        async with migrated.transaction() as db:
            await db.execute(text("SET LOCAL enable_seqscan = off"))
            for where in ("email LIKE '%%ada%%'", "lower(name) LIKE '%%ada%%'"):
                plan = await db.execute(text(f'EXPLAIN SELECT id FROM "user" WHERE {where}'))
                assert "_trigrams" in str([tuple(row) for row in plan])
            await db.execute(
                text(
                    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_user_email_trigrams'::regclass"
                )
            )
            await db.commit()
        await add_search_indexes(migrated)
        async with migrated.transaction() as db:
            invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
            assert (await db.execute(text(invalid))).scalar() == 0


class TestCheck:
    async def test_refuses_an_empty_database_and_changes_nothing(
        self, empty_url: str, opening: OpenDatabase
    ) -> None:
        database = await opening(empty_url)

        for _ in range(2):
            with pytest.raises(SchemaRefused, match="is at nothing, this program needs"):
                await prepare(database, "check")
