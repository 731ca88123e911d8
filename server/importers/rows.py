"""What databases hold, as the import format wants it: switches and instants that every ORM stores in its own way."""

from datetime import datetime
from typing import Any

from models.base import from_milliseconds

_MILLISECONDS_FROM = 10**11
"""A number as large as this counts milliseconds: in seconds it would be the year 5138."""


def flag(value: Any) -> object:
    """Return a switch that may be stored as 0 or 1; anything else stays for the reader to refuse."""
    return bool(value) if isinstance(value, int) and value in (0, 1) else value


def instant(value: Any) -> object:
    """Return an instant that may be stored as seconds or milliseconds since 1970; anything else stays as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        milliseconds = int(value if abs(value) >= _MILLISECONDS_FROM else value * 1000)
        moment: datetime = from_milliseconds(milliseconds)
    except (OverflowError, ValueError):  # Infinity, NaN, and years that there are not
        return value
    return moment
