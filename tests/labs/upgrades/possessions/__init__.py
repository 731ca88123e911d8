"""What users and operators have that an upgrade must keep, one module for each capability.

A possession is an asynchronous generator: it acquires something at one process, yields, and then checks at the process
whose clients it is sent that this can still be used.
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from tests.labs.upgrades.site import Site

Story = AsyncGenerator[None, Site]


@dataclass(frozen=True)
class Possession:
    """How something is acquired and used, and the revision of the database schema that brought its capability."""

    name: str
    begin: Callable[[Site], Story]
    since: str


POSSESSIONS: list[Possession] = []
"""Everything that the modules of this package declare."""


def possession(since: str) -> Callable[[Callable[[Site], Story]], Callable[[Site], Story]]:
    """Return a decorator that declares a possession of releases with at least this revision."""

    def declare(begin: Callable[[Site], Story]) -> Callable[[Site], Story]:
        POSSESSIONS.append(Possession(begin.__name__, begin, since))
        return begin

    return declare
