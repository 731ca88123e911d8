"""The navigation of the account pages.

A module of `handlers` that adds pages to the navigation declares `ACCOUNT_NAVIGATION`, a tuple of `NavigationItem`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import handlers
from domain.policy import Policy
from models.discovery import declared


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    """An entry of the navigation of the account pages."""

    path: str
    """The path of the page below `pages.path`, such as `/email`."""
    label: str
    """The English text, marked with N_."""
    position: int
    exists: Callable[[Policy], bool] = lambda _: True
    """Returns whether the settings enable the page."""


def navigation(policy: Policy) -> Sequence[NavigationItem]:
    """Return the entries of the pages that are enabled, sorted by `position`."""
    items = [item for item in declared(handlers, "ACCOUNT_NAVIGATION") if item.exists(policy)]
    return sorted(items, key=attrgetter("position"))
