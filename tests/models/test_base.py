"""Instants come back as they went in, cut to milliseconds."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Dialect
from sqlalchemy.dialects import registry

from models.base import Instant, from_milliseconds, metadata, tables, to_milliseconds

POSTGRESQL: Dialect = registry.load("postgresql.asyncpg")()
SQLITE: Dialect = registry.load("sqlite.aiosqlite")()
SOME = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)


class TestInstant:
    @pytest.mark.parametrize(
        "instant",
        [
            SOME,
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            SOME.astimezone(timezone(timedelta(hours=-5, minutes=-30))),
        ],
    )
    def test_is_cut_to_milliseconds_and_utc(self, instant: datetime) -> None:
        stored = Instant().process_bind_param(instant, SQLITE)
        read = Instant().result_processor(SQLITE, None)
        assert read is not None

        assert read(stored) == instant.replace(microsecond=instant.microsecond // 1000 * 1000)
        assert str(read(stored)).endswith("+00:00")
        assert read(stored) == Instant().process_bind_param(instant, POSTGRESQL)

    def test_may_be_absent(self) -> None:
        read = Instant().result_processor(SQLITE, None)
        assert read is not None

        assert Instant().process_bind_param(None, SQLITE) is None
        assert read(None) is None

    def test_needs_a_time_zone(self) -> None:
        with pytest.raises(ValueError, match="time zone"):
            Instant().process_bind_param(SOME.replace(tzinfo=None), SQLITE)

    def test_milliseconds_go_there_and_back(self) -> None:
        assert to_milliseconds(from_milliseconds(-1)) == -1
        assert from_milliseconds(1) == datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)


class TestTables:
    def test_every_table_has_its_class_wherever_models_is_imported(self) -> None:
        assert [table.__tablename__ for table in tables()] == sorted(metadata.tables)
