"""Instants as PostgreSQL sends them. Those of a session come again with each of its requests, so the last ones are
remembered, and the driver does not make each anew."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from server.postgresql_engine import Driver

_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)


async def remember(connection: Driver) -> None:
    """Have a connection read its instants here; that takes no word to the server."""
    await connection.set_type_codec(
        "timestamptz", schema="pg_catalog", format="tuple", encoder=written, decoder=read
    )


@lru_cache(maxsize=4096)
def read(sent: tuple[int]) -> datetime:
    """Give the instant so many microseconds after the beginning of the year 2000, as PostgreSQL counts them.

    What no calendar has, such as its `infinity`, is the last or the first instant there is.
    """
    try:
        return _ZERO + sent[0] * _MICROSECOND
    except OverflowError:
        return _LAST if sent[0] > 0 else _FIRST


def written(moment: datetime) -> tuple[int]:
    """Give an instant as PostgreSQL wants it."""
    return ((moment - _ZERO) // _MICROSECOND,)
