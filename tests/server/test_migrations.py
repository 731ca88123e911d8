"""The schema at start: one instance migrates, the others wait; a schema from the future is refused."""

import asyncio

import pytest
from sqlalchemy import text

from server.database import Database
from server.migrations import SchemaRefused, current_is_head, head, prepare
from tests.server.conftest import OpenDatabase


async def set_revision(database: Database, revision: str) -> None:
    async with database.transaction() as session:
        await session.execute(
            text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision}
        )


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
            assert (await session.scalars(text("SELECT version_num FROM alembic_version"))).all() == [head()]

    async def test_leaves_a_current_schema_alone(self, migrated: Database) -> None:
        await prepare(migrated, "auto")

        assert await current_is_head(migrated)

    async def test_gives_up_waiting_for_another_instance(self, empty_url: str, opening: OpenDatabase) -> None:
        one, other = await opening(empty_url), await opening(empty_url, timeout=0.1)
        lock = (
            "SELECT 1"
            if one.dialect == "sqlite"
            else "SELECT pg_advisory_xact_lock(x'6761746577726967'::bigint)"
        )

        async with one.transaction() as session:
            await session.execute(text(lock))
            with pytest.raises(SchemaRefused, match="another instance"):
                await prepare(other, "auto", patience=0.1)

    async def test_refuses_a_newer_schema(self, migrated: Database) -> None:
        await set_revision(migrated, "9999")

        with pytest.raises(SchemaRefused, match=r"is at 9999, .* newer than the program") as refusal:
            await prepare(migrated, "auto")
        assert "\n" not in str(refusal.value)
        assert not await current_is_head(migrated)


class TestCurrentIsHead:
    async def test_says_no_where_there_is_no_schema(self, empty_url: str, opening: OpenDatabase) -> None:
        assert not await current_is_head(await opening(empty_url))

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


class TestCheck:
    async def test_accepts_a_current_schema(self, migrated: Database) -> None:
        await prepare(migrated, "check")

    async def test_refuses_an_empty_database_and_changes_nothing(
        self, empty_url: str, opening: OpenDatabase
    ) -> None:
        database = await opening(empty_url)

        for _ in range(2):
            with pytest.raises(SchemaRefused, match="is at nothing, this program needs"):
                await prepare(database, "check")

    async def test_refuses_a_newer_schema(self, migrated: Database) -> None:
        await set_revision(migrated, "9999")

        with pytest.raises(SchemaRefused, match="newer"):
            await prepare(migrated, "check")
