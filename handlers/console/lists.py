"""Parse filters from the query of a list page: booleans and days in the form that HTML forms send."""

from datetime import UTC, datetime, timedelta
from typing import NoReturn

from domain.errors import Field, ValidationError


def flag(text: str | None) -> bool | None:
    """Return the value of a filter that is `true` or `false`; None if it is empty."""
    return None if not text else text == "true"


def first_day(text: str | None, name: str = "from") -> datetime | None:
    """Return the beginning of a day such as `2026-03-31`, in UTC; None for an empty text.

    Raises ValidationError, about the query parameter `name`, if the text is malformed.
    """
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        refuse(name, "must be a day such as 2026-03-31")


def last_day(text: str | None, name: str = "to") -> datetime | None:
    """Return the end of a day such as `2026-03-31`, in UTC; None for an empty text.

    Raises ValidationError, about the query parameter `name`, if the text is malformed.
    """
    day = first_day(text, name)
    try:
        return None if day is None else day + timedelta(days=1)
    except OverflowError:
        refuse(name, "must be a day such as 2026-03-31")


def refuse(name: str, problem: str) -> NoReturn:
    """Raise ValidationError for a query parameter; `problem` says what is wrong with it."""
    raise ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
