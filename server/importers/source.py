"""The interface of sources of users, which yield rows in the format that `parse.py` reads."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from domain.data_import.eligibility import Problem
from server.importers.values import Fields


class SourceRefused(Exception):
    """The source cannot be read; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Row:
    """One user of a source, or the reason why the row cannot be read."""

    name: str
    """The location of the row: `line 17`, or the id in the source."""
    fields: Fields | Problem = field(repr=False)
    source_id: str = ""
    """Identifies the user in the source if the fields have no id."""
    position: int = 0
    """The position in the source, in the unit of its `total`."""
    left_out: str = ""
    """The kind of a row that is not a user to import, such as `deleted users`; the row is only counted. Else empty."""
    notes: tuple[Problem, ...] = ()
    """Data of the user that are valid but cannot be imported."""

    @property
    def providers(self) -> set[str]:
        """The ids of the providers at which the user has accounts; the accounts are not checked yet."""
        accounts = None if isinstance(self.fields, Problem) else self.fields.get("accounts")
        tables = accounts if isinstance(accounts, list) else []
        ids = [table.get("providerId") for table in tables if isinstance(table, dict)]
        return {id_ for id_ in ids if isinstance(id_, str)}


class Source(Protocol):
    """The interface of a source of users to import."""

    @property
    def origin(self) -> str:
        """The name of the source program."""

    @property
    def total(self) -> int | None:
        """The size of the source in the unit of `Row.position` (rows or bytes); None if unknown."""

    def rows(self) -> AsyncIterator[Row]:
        """Yield every user; the memory it needs does not grow. Raises SourceRefused if the source fails."""


@runtime_checkable
class OrganizationSource(Source, Protocol):
    """The interface of a source of users and organizations to import."""

    @property
    def organization_total(self) -> int | None:
        """Return the number of organizations; None if the source has none."""

    def organization_rows(self, now: datetime) -> AsyncIterator[Row]:
        """Yield every organization with what is valid at `now`, after the users. Raises SourceRefused."""
