"""What every source of users is: rows one after the other, each in the format of `parse.py`."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from domain.data_import.eligibility import Problem
from server.importers.values import Fields


class SourceRefused(Exception):
    """The source cannot be read; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Row:
    """One user of a source, or why the row cannot be read."""

    name: str
    """How the row is found again: `line 17`, or the id there."""
    fields: Fields | Problem = field(repr=False)
    source_id: str = ""
    """What a user without an id is known by."""
    position: int = 0
    """How far the source was read by then, in what its `total` counts."""


class Source(Protocol):
    """Users to be taken over."""

    @property
    def origin(self) -> str:
        """The name of the program they come from."""

    @property
    def total(self) -> int | None:
        """How much there is to read, in rows or bytes; None when nobody knows."""

    def rows(self) -> AsyncIterator[Row]:
        """Yield every user, in bounded memory. Raises SourceRefused when the source fails on the way."""
