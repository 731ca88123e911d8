"""Timestamps that a read connection gets from PostgreSQL are those the driver would give."""

from datetime import UTC, datetime

import asyncpg

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


async def test_there_and_back(cluster: Cluster) -> None:
    connection = await asyncpg.connect(cluster.url())
    there = "SELECT unnest($1::timestamptz[])"
    by_driver = [row[0] for row in await connection.fetch(there, MOMENTS)]

    await decode_timestamps(connection)
    by_lane = [row[0] for row in await connection.fetch(there, MOMENTS)]
    again = [row[0] for row in await connection.fetch(there, MOMENTS)]

    await connection.close()
    assert by_lane == again == by_driver == MOMENTS
    assert {moment.tzinfo for moment in by_lane} == {UTC}


async def test_what_no_calendar_has(cluster: Cluster) -> None:
    connection = await asyncpg.connect(cluster.url())
    await decode_timestamps(connection)

    moments = "'infinity'::timestamptz, '-infinity'::timestamptz, '294276-12-31'::timestamptz"
    read = await connection.fetchrow(f"SELECT {moments}")

    await connection.close()
    assert tuple(read) == (LAST, FIRST, LAST)
