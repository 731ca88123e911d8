"""What a capability declares for the matrix: ways in, events, and the verdict of each cell with its reason."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

from sqlmodel import SQLModel

from models import Purpose
from tests.security.matrix.subject import Subject


@dataclass(frozen=True, slots=True, order=True)
class Users:
    """A kind of user. Every event happens to a user of each kind."""

    verified: bool
    two_factor: bool

    def __str__(self) -> str:
        """Return the kind as the table and the ids of tests write it."""
        return f"{'verified' if self.verified else 'unverified'}, {'2FA' if self.two_factor else 'no 2FA'}"


KINDS = tuple(Users(verified, two_factor) for verified, two_factor in product((True, False), repeat=2))
EVERYBODY = frozenset(KINDS)
VERIFIED = frozenset(kind for kind in KINDS if kind.verified)
UNVERIFIED = EVERYBODY - VERIFIED
WITH_TWO_FACTOR = frozenset(kind for kind in KINDS if kind.two_factor)
WITHOUT_TWO_FACTOR = EVERYBODY - WITH_TWO_FACTOR
UNPROVEN = UNVERIFIED & WITHOUT_TWO_FACTOR
"""Users from whom a proof of the mailbox takes everything that a stranger may have prepared."""


class Verdict(StrEnum):
    """What becomes of a way in when an event happens."""

    ENDS = "ends"
    STAYS = "stays"


@dataclass(frozen=True, slots=True)
class Cells:
    """The verdict of several cells: in the row of a way `names` are events, in the column of an event they are ways."""

    verdict: Verdict
    why: str
    names: tuple[str, ...]
    users: frozenset[Users] = EVERYBODY

    def covers(self, name: str, users: Users) -> bool:
        """Return whether the verdict is about a way or an event, for a kind of user."""
        return name in self.names and users in self.users


def ends(why: str, *names: str, users: frozenset[Users] = EVERYBODY) -> Cells:
    """Return cells of ways that let nobody in after the event."""
    return Cells(Verdict.ENDS, why, names, users)


def stays(why: str, *names: str, users: frozenset[Users] = EVERYBODY) -> Cells:
    """Return cells of ways that work as before."""
    return Cells(Verdict.STAYS, why, names, users)


@dataclass(frozen=True, slots=True)
class Way:
    """A row: something that lets its holder in, or changes the account for them."""

    name: str
    open: Callable[[Subject], Awaitable[Any]]
    """Open it through HTTP; the result is given to `let_in`."""
    let_in: Callable[[Subject, Any], Awaitable[bool]]
    """Return whether it still works, by using it through HTTP."""
    table: type[SQLModel] | None
    """The table whose rows let the holder in; None where nothing is stored."""
    purpose: Purpose | None = None
    """The purpose of the rows, in the table of one-time tokens."""
    users: frozenset[Users] = EVERYBODY
    """Who can have it."""
    why: str = ""
    """Why the other users have none."""
    is_read_only: bool = False
    """Whether using it changes nothing that another way depends on, so that nothing has to be restored."""
    cells: tuple[Cells, ...] = ()
    """Verdicts about events that were in the matrix before this way."""


@dataclass(frozen=True, slots=True)
class Event:
    """A column: something that happens to a user, through HTTP."""

    name: str
    happen: Callable[[Subject], Awaitable[None]]
    audit: tuple[str, ...]
    """The events of the audit trail that it causes, which are checked."""
    cells: tuple[Cells, ...]
    """Verdicts about ways that were in the matrix before this event."""
    users: frozenset[Users] = EVERYBODY
    """To whom it happens."""
    why: str = ""
    """Why it does not happen to the other users."""


def column(*cells: Cells, rest: Cells) -> tuple[Cells, ...]:
    """Return the cells of an event, with one verdict and reason for all names of `rest` without another."""
    return (*cells, *_remaining(cells, rest))


def _remaining(cells: Sequence[Cells], rest: Cells) -> Iterator[Cells]:
    for users in KINDS:
        names = [name for name in rest.names if not any(cell.covers(name, users) for cell in cells)]
        yield Cells(rest.verdict, rest.why, tuple(names), frozenset({users}) & rest.users)
