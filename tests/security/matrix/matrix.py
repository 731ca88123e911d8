"""The whole matrix: the ways and events that the capabilities declare, its cells, and what is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from sqlmodel import SQLModel

from models import Purpose
from tests.discovery import modules
from tests.security.matrix import events, ways
from tests.security.matrix.cells import EVERYBODY, KINDS, Cells, Event, Users, Verdict, Way


@dataclass(frozen=True, slots=True)
class Matrix:
    """Ways by row and events by column, each in the order in which they are discovered."""

    ways: Sequence[Way]
    events: Sequence[Event]

    def cells(self, way: Way, event: Event, users: Users) -> list[Cells]:
        """Return every declared verdict of a cell: one, unless something is wrong."""
        by_row = [cells for cells in way.cells if cells.covers(event.name, users)]
        return by_row + [cells for cells in event.cells if cells.covers(way.name, users)]

    def column(self, event: Event, users: Users) -> Mapping[str, Verdict]:
        """Return the expected verdict by the name of each way that such a user can have."""
        held = [way for way in self.ways if users in way.users]
        return {way.name: self.cells(way, event, users)[0].verdict for way in held}

    def scenarios(self) -> list[tuple[Event, Users]]:
        """Return every event with every kind of user to whom it happens."""
        return [(event, users) for event in self.events for users in KINDS if users in event.users]

    def complaints(self) -> list[str]:
        """Return what is missing or ambiguous, one sentence each."""
        return [*self._unknown(), *self._unexplained(), *self._uncounted()]

    def _unknown(self) -> Iterator[str]:
        known_ways = {way.name for way in self.ways}
        known_events = {event.name for event in self.events}
        for way in self.ways:
            for name in sorted({name for cells in way.cells for name in cells.names} - known_events):
                yield f"the way {way.name!r} names the event {name!r}, which does not exist"
        for event in self.events:
            for name in sorted({name for cells in event.cells for name in cells.names} - known_ways):
                yield f"the event {event.name!r} names the way {name!r}, which does not exist"

    def _unexplained(self) -> Iterator[str]:
        declared: list[Way | Event] = [*self.ways, *self.events]
        names = [each.name for each in declared]
        for each in declared:
            if each.users != EVERYBODY and not each.why:
                yield f"{each.name!r} is not for every user, and does not say why"
            if names.count(each.name) > 1:
                yield f"{each.name!r} is the name of several"

    def _uncounted(self) -> Iterator[str]:
        for event, users in self.scenarios():
            for way in self.ways:
                found = len(self.cells(way, event, users)) if users in way.users else 1
                if found != 1:
                    yield f"{found or 'no'} verdicts for {way.name!r} when {event.name!r} happens ({users})"


def read() -> Matrix:
    """Return the matrix that the modules of `ways` and `events` declare, as `WAYS` and `EVENTS`."""
    rows: list[Way] = [way for module in modules(ways) for way in getattr(module, "WAYS", ())]
    columns: list[Event] = [event for module in modules(events) for event in getattr(module, "EVENTS", ())]
    return Matrix(rows, columns)


def other_tables() -> dict[type[SQLModel], str]:
    """Return the tables that are said to let nobody in, with the reason."""
    return _merged(ways, "OTHER_TABLES")


def other_purposes() -> dict[Purpose, str]:
    """Return the purposes of one-time tokens that are said to let nobody in, with the reason."""
    return _merged(ways, "OTHER_PURPOSES")


def other_operations() -> dict[str, str]:
    """Return the operations that open a session and that no way in tries, with the reason."""
    return _merged(ways, "OTHER_OPERATIONS")


def other_audit_events() -> dict[str, str]:
    """Return the events of the audit trail that are said to end no way in, or to have no column, with the reason."""
    return _merged(events, "OTHER_AUDIT_EVENTS")


def _merged(package: ModuleType, name: str) -> dict[Any, str]:
    found = [getattr(module, name, {}) for module in modules(package)]
    return {key: reason for each in found for key, reason in each.items()}
