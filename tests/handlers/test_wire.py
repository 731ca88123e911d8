"""Shapes on the wire: instants as the official client reads them."""

from datetime import UTC, datetime

import pytest

from handlers import wire


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 0, UTC), "2026-01-02T03:04:05.000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 123_000, UTC), "2026-01-02T03:04:05.123Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 999, UTC), "2026-01-02T03:04:05.000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 1000, UTC), "2026-01-02T03:04:05.001Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_an_instant_has_three_digits_and_a_z(moment: datetime, text: str) -> None:
    assert wire.instant(moment) == text
