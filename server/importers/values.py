"""Validation of single values of the import format.

The functions get the fields of a user and the name of a field. They return None if the field is absent, and raise
`Problem` if it is invalid, or the `Problem` that the source has stored as its value. Models of pydantic would not be
shorter, because every reason is a sentence of its own, and parts with a problem may be left out.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from domain import identifiers
from domain.data_import.eligibility import Field, Problem
from domain.errors import Refusal
from server.database.compile import is_storable

Fields = Mapping[str, object]

LONGEST_URL = 2048
CLOCKS_APART = timedelta(minutes=1)
"""Time by which the clock of the other program may be ahead."""
_NO_INSTANT = "must be a time such as 2026-01-31T12:00:00.000Z"


def refuse_unknown(fields: Iterable[str], known: frozenset[str], prefix: str = "") -> None:
    """Raise Problem if there is an unknown field, because data under a misspelled name would be lost."""
    unknown = sorted(set(fields) - known)
    if unknown:
        raise Problem(f"{prefix}{shown(unknown[0])}", "is not a field of the format")


def shown(name: str) -> str:
    """Return a name from a source as messages show it: short, and without control characters."""
    return "".join(character for character in name if character.isprintable())[:64]


def present(fields: Fields, name: str) -> object:
    """Return the value of a field, of any type; None if it is absent. Raises the Problem stored as the value."""
    value = fields.get(name)
    if isinstance(value, Problem):
        raise value
    return value


def text(fields: Fields, name: str, longest: int, may_be_left: Field | None = None) -> str | None:
    """Return a text of at most `longest` characters. If it is invalid, the part `may_be_left` may be left out."""
    value = present(fields, name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Problem(name, "must be text", may_be_left)
    if not is_storable(value):
        raise Problem(name, "contains U+0000 or an unpaired surrogate", may_be_left)
    if len(value) > longest:
        raise Problem(name, f"is longer than {longest} characters", may_be_left)
    return value


def line(fields: Fields, name: str, longest: int = identifiers.NAME_LENGTH) -> str | None:
    """Return a text by the rules of names, of at most `longest` characters."""
    value = text(fields, name, longest)
    if value is not None and not identifiers.is_name(value):
        raise Problem(name, "contains control characters")
    return value


def image(fields: Fields, name: str) -> str | None:
    """Return the URL of a picture; None also for an empty text."""
    url = text(fields, name, 2**20, Field.IMAGE)
    if url and identifiers.image_or_none(url) is None:
        raise Problem(name, "is not an http or https URL of at most 2048 characters", Field.IMAGE)
    return url or None


def email(fields: Fields, problem: Problem) -> str:
    """Return the email address of a user or an invitation; raise `problem` for an invalid one."""
    try:
        return identifiers.email(text(fields, "email", LONGEST_URL, problem.may_be_left) or "")
    except Refusal:
        raise problem from None


def flag(fields: Fields, name: str) -> bool:
    """Return a boolean; absent means false."""
    value = present(fields, name)
    if value is not None and not isinstance(value, bool):
        raise Problem(name, "must be true or false")
    return bool(value)


def instant(fields: Fields, name: str) -> datetime | None:
    """Return a time in UTC. A time without an offset is taken for UTC."""
    value = present(fields, name)
    if value is None or isinstance(value, datetime):
        return _in_utc(value, name)
    if not isinstance(value, str):
        raise Problem(name, _NO_INSTANT)
    try:
        return _in_utc(datetime.fromisoformat(value), name)
    except ValueError:
        raise Problem(name, _NO_INSTANT) from None


def _in_utc(moment: datetime | None, name: str) -> datetime | None:
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise Problem(name, "is outside the years 1 to 9999") from None


def past(fields: Fields, name: str, now: datetime) -> datetime | None:
    """Return a time in UTC that is not in the future, apart from `CLOCKS_APART`."""
    moment = instant(fields, name)
    if moment is not None and moment > now + CLOCKS_APART:
        raise Problem(name, "is in the future")
    return moment


def table(value: object, name: str, known: frozenset[str], may_be_left: Field) -> Fields:
    """Return the fields of a nested object. Raises Problem for a field that is not `known`."""
    if not isinstance(value, dict):
        raise Problem(name, "must be an object", may_be_left)
    refuse_unknown(value, known, f"{name}.")
    return value


def tables(fields: Fields, name: str, most: int, known: frozenset[str], may_be_left: Field) -> list[Fields]:
    """Return the fields of each object in a list of at most `most`; an absent list is empty."""
    value = present(fields, name)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > most:
        raise Problem(name, f"must be a list of at most {most} objects", may_be_left)
    return [table(each, name, known, may_be_left) for each in value]
