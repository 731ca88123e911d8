"""How processes that take connections from one socket share them: who has more leaves newcomers to the others."""

from collections.abc import MutableSequence
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray

_LEAD = 1
"""Connections that a process may have more than another before it leaves newcomers to that one."""

_ABSENT = 2**31 - 1
"""What stands for a process that takes none."""


@dataclass(frozen=True, slots=True)
class ConnectionCounts:
    """One process's view of how many connections each process has, in memory that they share."""

    _counts: MutableSequence[int]
    """Each process writes its own; who watches over them does when one has ended."""
    _number: int

    def publish(self, connections: int) -> None:
        """Publish how many connections this process has."""
        self._counts[self._number] = connections

    def withdraw(self) -> None:
        """Publish that this process takes no connections for now."""
        self._counts[self._number] = _ABSENT

    def is_ahead(self, connections: int) -> bool:
        """Note how many connections this process has, and say if it should leave newcomers to one that has fewer."""
        self.publish(connections)
        return connections > min(self._counts) + _LEAD


def connection_counts(processes: int) -> list[ConnectionCounts]:
    """Give the views of so many processes, none of which takes connections yet."""
    counts = RawArray("i", [_ABSENT] * processes)
    return [ConnectionCounts(counts, number) for number in range(processes)]
