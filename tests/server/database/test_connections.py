"""Timestamps that a read connection gets from PostgreSQL are those the driver would give."""

from datetime import UTC, datetime

import asyncpg
import pytest

from server.database.postgresql.engine import decode_timestamps
from tests.postgres import Cluster

FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)

MOMENTS = [
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(1999, 12, 31, 23, 59, 59, 999_000, UTC),
    datetime(2000, 1, 1, tzinfo=UTC),
    datetime(2026, 11, 22, 12, 0, 0, 123_456, UTC),
    datetime(9999, 12, 30, 23, 59, 59, 999_999, UTC),
]


@pytest.mark.parametrize("moment", MOMENTS)
async def test_there_and_back(cluster: Cluster, moment: datetime) -> None:
    connection = await asyncpg.connect(cluster.url())
    [by_driver] = await connection.fetchrow("SELECT $1::timestamptz", moment)

    await decode_timestamps(connection)
    [by_lane] = await connection.fetchrow("SELECT $1::timestamptz", moment)
    [again] = await connection.fetchrow("SELECT $1::timestamptz", moment)

    await connection.close()
    assert by_lane == again == by_driver == moment
    assert by_lane.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "last_or_first"),
    [("infinity", LAST), ("-infinity", FIRST), ("294276-12-31", LAST)],
)
async def test_what_no_calendar_has(cluster: Cluster, text: str, last_or_first: datetime) -> None:
    connection = await asyncpg.connect(cluster.url())
    await decode_timestamps(connection)

    [read] = await connection.fetchrow(f"SELECT '{text}'::timestamptz")

    await connection.close()
    assert read == last_or_first
