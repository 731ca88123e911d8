"""Read the filters of a list from the query: truth values and days as forms send them."""

from datetime import UTC, datetime, timedelta
from typing import NoReturn

from domain.errors import Field, ValidationError
from domain.keyset import Position
from handlers import wire


def flag(text: str | None) -> bool | None:
    """Return the value of a filter that may be `true`, `false` or empty."""
    return None if not text else text == "true"


def first_day(text: str | None, name: str = "from") -> datetime | None:
    """Return the beginning of a day, in UTC. Raises ValidationError that names the parameter."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        refuse(name, "must be a day such as 2026-03-31")


def last_day(text: str | None, name: str = "to") -> datetime | None:
    """Return the end of a day, in UTC. Raises ValidationError that names the parameter."""
    day = first_day(text, name)
    try:
        return None if day is None else day + timedelta(days=1)
    except OverflowError:
        refuse(name, "must be a day such as 2026-03-31")


def position(text: str) -> tuple[datetime, str] | None:
    """Return the position of a list that is sorted by time; None for a malformed text."""
    try:
        return wire.position(text)
    except ValidationError:
        return None


def instant_position(text: str) -> Position | None:
    """Return the position in a list of events or emails; None for a malformed text."""
    found = position(text)
    return None if found is None else Position(*found)


def refuse(name: str, problem: str) -> NoReturn:
    """Refuse a parameter of the query. Raises ValidationError."""
    raise ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
