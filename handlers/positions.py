"""Positions of lists in the query: where a page begins, or where it ends."""

from collections.abc import Callable
from typing import TypeVar

from domain.errors import Field, ValidationError

Position = TypeVar("Position")


def positions(
    after: str | None, before: str | None, decode: Callable[[str], Position | None]
) -> tuple[Position | None, Position | None]:
    """Return the positions after and before which a page lies, of which at most one is set.

    `decode` returns None for a text that is no position of the list. Raises ValidationError that names the parameter.
    """
    if after and before:
        raise _error("before", "must not be given together with after")
    return _decoded("after", after, decode), _decoded("before", before, decode)


def _decoded(name: str, text: str | None, decode: Callable[[str], Position | None]) -> Position | None:
    position = decode(text) if text else None
    if text and position is None:
        raise _error(name, "must be a position in this list")
    return position


def _error(name: str, problem: str) -> ValidationError:
    return ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
