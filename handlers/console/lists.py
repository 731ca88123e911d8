"""Read the query of a list: filters in words of forms, days, and the position where a page begins."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NoReturn, TypeVar

from domain.errors import Field, ValidationError

Position = TypeVar("Position")


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


def position(
    after: str | None, before: str | None, decode: Callable[[str], Position | None]
) -> tuple[Position | None, Position | None]:
    """Return the positions after and before which a page lies, of which at most one is set.

    Raises ValidationError for one that is not of this list.
    """
    if after and before:
        refuse("before", "must not be given together with after")
    positions = []
    for name, text in (("after", after), ("before", before)):
        found = decode(text) if text else None
        if text and found is None:
            refuse(name, "must be a position in this list")
        positions.append(found)
    return positions[0], positions[1]


def refuse(name: str, problem: str) -> NoReturn:
    """Refuse a parameter of the query. Raises ValidationError."""
    raise ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
