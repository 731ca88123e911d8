"""The navigation of the pages of one's own account.

A module of `handlers` with such a page declares `ACCOUNT_NAVIGATION`, a tuple of `NavigationItem`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import handlers
from domain.policy import Policy
from models.discovery import declared


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    """An entry of the navigation."""

    path: str
    """Below `pages.path`."""
    label: str
    """The English text, marked with N_."""
    position: int
    exists: Callable[[Policy], bool] = lambda _: True
    """Whether the page is switched on."""


def navigation(policy: Policy) -> Sequence[NavigationItem]:
    """Return the entries of the pages that are switched on, in order."""
    items = [item for item in declared(handlers, "ACCOUNT_NAVIGATION") if item.exists(policy)]
    return sorted(items, key=attrgetter("position"))
