"""Decode the query parameters `after` and `before`: the positions in a list after or before which a page lies."""

from collections.abc import Callable
from typing import TypeVar

from domain import keyset
from domain.errors import Field, ValidationError
from handlers import wire

Position = TypeVar("Position")


def positions(
    after: str | None, before: str | None, decode: Callable[[str], Position | None]
) -> tuple[Position | None, Position | None]:
    """Return the positions after which and before which a page lies. At most one is set; neither for the first page.

    `decode` returns None for a malformed text. Raises ValidationError, about the parameter, if a text is malformed or
    both are given.
    """
    if after and before:
        raise _error("before", "must not be given together with after")
    return _decoded("after", after, decode), _decoded("before", before, decode)


def time_position(text: str) -> keyset.Position | None:
    """Decode a position in a list that is sorted by time; return None for a malformed text."""
    try:
        return wire.position(text)
    except ValidationError:
        return None


def _decoded(name: str, text: str | None, decode: Callable[[str], Position | None]) -> Position | None:
    position = decode(text) if text else None
    if text and position is None:
        raise _error(name, "must be a position in this list")
    return position


def _error(name: str, problem: str) -> ValidationError:
    return ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
