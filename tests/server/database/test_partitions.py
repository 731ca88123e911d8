"""The table of audit records by month: converted while it is in use, resumed after an interruption, kept up to date."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, text

from models.audit import Audit
from server.components import cleanup
from server.database import partitioning
from server.database.alembic import PendingIndexes
from server.database.database import Database
from server.database.migrations import run_alone, run_outside_transactions
from server.database.partitions import maintain, name_of
from server.database.schema import SchemaRefused, current_is_head
from tests.conftest import MakeService
from tests.rows import add
from tests.server.conftest import OpenDatabase

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
BEFORE = "audit_until_2027_01"
"""What was there at the conversion: the next month begins too soon."""
DAY = timedelta(days=1)
FOREVER = 600.0


@pytest.fixture
def dialect() -> str:
    """Return the database that has partitions."""
    return "postgresql"


def record(number: int, time: datetime = NOW) -> Audit:
    return Audit(id=f"{number:032}", time=time, event="user.created", outcome="success")


async def rows(database: Database, sql: str, **values: Any) -> list[Any]:
    async with database.transaction() as transaction:
        return list(await transaction.execute(text(sql), **values))


async def names(database: Database, sql: str) -> list[str]:
    return [row[0] for row in await rows(database, sql)]


async def places(database: Database) -> dict[str, str]:
    """Return the partition of each record, by the end of its identifier."""
    found = await rows(database, "SELECT id, tableoid::regclass::text FROM audit")
    return {str(int(id_)): str(table) for id_, table in found}


async def partitions(database: Database) -> list[str]:
    return await names(
        database,
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit'::regclass ORDER BY 1",
    )


async def indexes(database: Database, table: str) -> list[str]:
    return await names(database, f"SELECT indexname FROM pg_indexes WHERE tablename = '{table}' ORDER BY 1")


class TestConversion:
    async def test_keeps_every_record_and_writes_new_ones_to_their_month(self, migrated: Database) -> None:
        await add(migrated, record(1, NOW - 900 * DAY), record(2))

        assert await partitioning.partition(migrated, NOW)

        await add(migrated, record(3, datetime(2027, 1, 31, tzinfo=UTC)), record(4, NOW + DAY))
        await add(migrated, record(5, datetime(2031, 5, 5, tzinfo=UTC)))
        assert await places(migrated) == {
            "1": BEFORE,
            "2": BEFORE,
            "3": "audit_2027_01",
            "4": BEFORE,
            "5": "audit_later",
        }

    async def test_a_search_reads_the_newest_months_only(self, migrated: Database) -> None:
        """An Append in the order of time stops as soon as it has enough rows; a Merge Append looks into every month."""
        await partitioning.partition(migrated, NOW)

        plan = await names(migrated, "EXPLAIN SELECT id FROM audit ORDER BY time DESC LIMIT 50")

        kinds = [line.strip().removeprefix("->").split("(")[0].strip() for line in plan]
        assert kinds[:2] == ["Limit", "Append"]
        assert [kind.partition(" on ")[2] for kind in kinds[2:]] == [
            "audit_later audit_5",
            "audit_2027_03 audit_4",
            "audit_2027_02 audit_3",
            "audit_2027_01 audit_2",
            f"{BEFORE} audit_1",
        ]

    async def test_the_schema_is_current_and_has_the_same_indexes(self, migrated: Database) -> None:
        had = await indexes(migrated, "audit")

        await partitioning.partition(migrated, NOW)

        assert await current_is_head(migrated)
        assert await indexes(migrated, "audit") == had
        for partition in await partitions(migrated):
            assert len(await indexes(migrated, partition)) == len(had), partition

    async def test_a_second_one_changes_nothing(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        had = await partitions(migrated)

        assert not await partitioning.partition(migrated, NOW + 400 * DAY)

        assert await partitions(migrated) == had

    async def test_two_at_once_convert_it_once(self, migrated_url: str, opening: OpenDatabase) -> None:
        one, other = await opening(migrated_url), await opening(migrated_url)
        await add(one, record(1))

        await asyncio.gather(*(partitioning.partition(each, NOW) for each in (one, other)))

        assert await places(one) == {"1": BEFORE}

    async def test_other_roles_keep_their_privileges(self, migrated: Database) -> None:
        await rows(migrated, "GRANT SELECT ON audit TO pg_monitor")

        await partitioning.partition(migrated, NOW)

        assert await rows(migrated, "SELECT has_table_privilege('pg_monitor', 'audit', 'SELECT')") == [
            (True,)
        ]

    async def test_a_table_in_use_is_waited_for_and_named(
        self, migrated: Database, migrated_url: str, opening: OpenDatabase
    ) -> None:
        async with (await opening(migrated_url)).transaction() as backup:
            await backup.execute(text("SELECT count(*) FROM audit"))
            with pytest.raises(SchemaRefused, match="another transaction has been using a table"):
                await partitioning.partition(migrated, NOW, patience=0.1)

        assert await partitioning.partition(migrated, NOW)

    async def test_requests_are_served_meanwhile(self, make_service: MakeService) -> None:
        # A refusal for too many requests would not wait for the database, and let nothing else run.
        service = await make_service({"limits.requests": "0", "limits.failures": "0"})
        begun, goes_on, stop = asyncio.Event(), asyncio.Event(), asyncio.Event()
        statuses: list[int] = []
        is_converted: list[bool] = []

        async def ask(number: int) -> None:
            while not stop.is_set():
                answer = await service.post(
                    "/sign-in/email", {"email": f"{number}@example.com", "password": "wrong password"}
                )
                statuses.append(answer.status_code)
                begun.set()
                if is_converted:
                    goes_on.set()

        asking = [asyncio.create_task(ask(number)) for number in range(4)]
        database = service.services.database
        await begun.wait()
        is_converted.append(await partitioning.partition(database, service.clock.now))
        await goes_on.wait()
        stop.set()
        await asyncio.gather(*asking)
        await service.services.audit_writer.flush()

        assert is_converted == [True]
        assert set(statuses) == {401}
        [(written,)] = await rows(database, "SELECT count(*) FROM audit WHERE event = 'sign_in.failed'")
        assert written == len(statuses)


Step = Callable[[Database], Awaitable[object]]

STEPS: dict[str, Step] = {
    "add the bound": lambda database: run_alone(database, partial(partitioning.add_bound, now=NOW)),
    "build": lambda database: run_outside_transactions(database, partitioning.build, FOREVER),
    "swap": lambda database: run_alone(database, partitioning.swap),
}


class TestInterruption:
    @pytest.mark.parametrize("done", range(1, len(STEPS) + 1))
    async def test_continues_after_any_step(self, migrated: Database, done: int) -> None:
        await add(migrated, record(1))
        for step in list(STEPS.values())[:done]:
            await step(migrated)

        await partitioning.partition(migrated, NOW)

        assert await places(migrated) == {"1": BEFORE}
        assert await partitions(migrated) == [
            "audit_2027_01",
            "audit_2027_02",
            "audit_2027_03",
            "audit_later",
            BEFORE,
        ]

    async def test_an_invalid_index_is_built_again(self, migrated: Database) -> None:
        await rows(migrated, "CREATE UNIQUE INDEX audit_id_time ON audit (id, time)")
        await rows(
            migrated,
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'audit_id_time'::regclass",
        )

        assert await partitioning.partition(migrated, NOW)

    async def test_a_bound_is_removed_before_a_record_reaches_it(self, migrated: Database) -> None:
        await STEPS["add the bound"](migrated)

        await maintain(migrated, NOW + 30 * DAY, None)

        await add(migrated, record(1, datetime(2027, 1, 1, tzinfo=UTC)))
        assert await places(migrated) == {"1": "audit"}

    async def test_a_bound_that_is_near_is_replaced(self, migrated: Database) -> None:
        await STEPS["add the bound"](migrated)

        await partitioning.partition(migrated, NOW + 30 * DAY)

        assert "audit_until_2027_02" in await partitions(migrated)


class TestMonths:
    async def test_months_to_come_are_created(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)

        await maintain(migrated, datetime(2027, 4, 2, tzinfo=UTC), None)

        assert {name_of(datetime(2027, month, 1, tzinfo=UTC)) for month in range(1, 7)} <= set(
            await partitions(migrated)
        )

    async def test_records_move_to_their_month_when_it_is_created(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        late = datetime(2027, 6, 15, tzinfo=UTC)
        await add(migrated, record(1, late), record(2, late + 300 * DAY))

        await maintain(migrated, late, None)

        assert await places(migrated) == {"1": "audit_2027_06", "2": "audit_later"}

    async def test_a_month_is_dropped_when_all_its_records_have_expired(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        await add(migrated, record(1), record(2, datetime(2027, 1, 2, tzinfo=UTC)))
        await add(migrated, record(3, datetime(2027, 2, 1, tzinfo=UTC)))
        end = datetime(2027, 2, 1, tzinfo=UTC)

        await maintain(migrated, end + 90 * DAY - timedelta(seconds=1), 90 * DAY)
        assert (await places(migrated)).keys() == {"2", "3"}
        await maintain(migrated, end + 90 * DAY, 90 * DAY)

        assert (await places(migrated)).keys() == {"3"}

    async def test_a_record_before_all_months_is_kept_until_the_next_removal(
        self, migrated: Database
    ) -> None:
        """A server's clock can be wrong."""
        await partitioning.partition(migrated, NOW)
        later = datetime(2027, 6, 1, tzinfo=UTC)
        await maintain(migrated, later, 90 * DAY)
        await add(migrated, record(1, datetime(1970, 1, 1, tzinfo=UTC)), record(2, later - 100 * DAY))

        assert await places(migrated) == {"1": "audit_earlier", "2": "audit_earlier"}
        assert (await cleanup.delete_expired(migrated, later, lambda _: 95 * DAY))["audit"] == 2
        await add(migrated, record(3, datetime(1970, 1, 1, tzinfo=UTC)))
        await maintain(migrated, later + 60 * DAY, 90 * DAY)
        assert await places(migrated) == {}

    async def test_a_default_partition_of_an_older_version_is_replaced(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        await rows(migrated, "DROP TABLE audit_later")
        await rows(migrated, "CREATE TABLE audit_default PARTITION OF audit DEFAULT")
        late = datetime(2027, 5, 2, tzinfo=UTC)
        await add(migrated, record(1, late), record(2, late + 300 * DAY))

        await maintain(migrated, late, None)

        assert await places(migrated) == {"1": "audit_2027_05", "2": "audit_later"}

    async def test_months_that_were_missed_are_created(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        await rows(migrated, "DROP TABLE audit_2027_02, audit_2027_03")

        await maintain(migrated, datetime(2027, 2, 2, tzinfo=UTC), None)

        await add(migrated, record(1, datetime(2027, 2, 2, tzinfo=UTC)))
        assert await places(migrated) == {"1": "audit_2027_02"}

    async def test_older_records_are_removed_one_by_one(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        later = NOW + 120 * DAY
        await add(migrated, record(1, NOW), record(2, later - 60 * DAY), record(3, later - DAY))
        await add(migrated, record(4, datetime(2026, 12, 30, tzinfo=UTC)))

        removed = await cleanup.delete_expired(migrated, later, lambda _: 90 * DAY)

        assert removed["audit"] == 1
        assert (await places(migrated)).keys() == {"2", "3", "4"}

    async def test_without_retention_nothing_is_dropped(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        await add(migrated, record(1))

        await maintain(migrated, NOW + 4000 * DAY, None)

        assert await places(migrated) == {"1": BEFORE}

    async def test_a_table_that_is_not_partitioned_stays(self, migrated: Database) -> None:
        await add(migrated, record(1))

        await maintain(migrated, NOW + 4000 * DAY, DAY)

        assert await places(migrated) == {"1": "audit"}


class TestMigration:
    async def test_indexes_are_created_on_every_partition(self, migrated: Database) -> None:
        await partitioning.partition(migrated, NOW)
        added = PendingIndexes("0001", {"ix_audit_code_time": ("audit", ["code", "time"], None)})

        await run_outside_transactions(migrated, added.create, FOREVER)
        await run_outside_transactions(migrated, added.create, FOREVER)

        def is_valid(connection: Connection) -> None:
            valid.append(
                connection.scalar(
                    text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_audit_code_time'::regclass")
                )
            )

        valid: list[Any] = []
        await run_alone(migrated, is_valid)
        assert valid == [True]


class TestSqlite:
    @pytest.fixture
    def dialect(self) -> str:
        return "sqlite"

    async def test_is_refused(self, migrated: Database) -> None:
        with pytest.raises(SchemaRefused, match="only PostgreSQL"):
            await partitioning.partition(migrated, NOW)
