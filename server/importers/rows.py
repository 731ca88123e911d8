"""Conversion of booleans and times, which every ORM stores in its own way, to the import format."""

from datetime import datetime
from typing import Any

from models.base import from_milliseconds

_MILLISECONDS_FROM = 10**11
"""Numbers from here on count milliseconds: in seconds this would be the year 5138."""


def flag(value: Any) -> object:
    """Return a boolean that may be stored as 0 or 1; anything else is returned unchanged, and refused later."""
    # SQLite has no booleans and returns 0 or 1.
    return bool(value) if isinstance(value, int) and value in (0, 1) else value


def instant(value: Any) -> object:
    """Return a time that may be stored as seconds or milliseconds since 1970; anything else unchanged."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        milliseconds = int(value if abs(value) >= _MILLISECONDS_FROM else value * 1000)
        moment: datetime = from_milliseconds(milliseconds)
    except (OverflowError, ValueError):  # Infinity, NaN, and years out of range
        return value
    return moment
