"""`gatewright database partition`, as an operator types it."""

import asyncio

import asyncpg
import pytest

from tests.server.terminal import Run, complaint


class TestPostgresql:
    @pytest.fixture
    def dialect(self) -> str:
        return "postgresql"

    def test_shows_what_it_would_do_and_converts_once(self, run: Run, migrated_url: str) -> None:
        given = {"GATEWRIGHT_DATABASE_URL": migrated_url}
        words = ("database", "partition")

        tried = run(*words, "--dry-run", **given)
        done = run(*words, **given)
        again = run(*words, **given)

        assert tried.stdout == "About 0 audit records (0 MiB) would be partitioned by month.\n"
        assert done.stdout == "The audit records are partitioned by month.\n"
        assert (
            again.stdout
            == "The audit records are partitioned already; the partitions of the next months exist.\n"
        )
        assert run("migrate", "--check", **given).exit_code == 0
        assert run("doctor", "--json", **given).stdout.count('"audit"') == 0

    def test_doctor_warns_where_the_next_month_has_no_partition(
        self, run: Run, migrated_url: str, drop_months: None
    ) -> None:
        found = run("doctor", GATEWRIGHT_DATABASE_URL=migrated_url).stdout

        assert "the next month has no partition" in found

    @pytest.fixture
    def drop_months(self, run: Run, migrated_url: str) -> None:
        run("database", "partition", GATEWRIGHT_DATABASE_URL=migrated_url)

        async def drop() -> None:
            connection = await asyncpg.connect(migrated_url)
            for (name,) in await connection.fetch(
                "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit'::regclass"
            ):
                if name != "audit_later":
                    await connection.execute(f"DROP TABLE {name}")
            await connection.close()

        asyncio.run(drop())


class TestSqlite:
    @pytest.fixture
    def dialect(self) -> str:
        return "sqlite"

    def test_is_refused(self, run: Run, migrated_url: str) -> None:
        refused = run("database", "partition", GATEWRIGHT_DATABASE_URL=migrated_url)

        assert refused.exit_code == 1
        assert complaint(refused.stderr) == "only PostgreSQL has partitions"
