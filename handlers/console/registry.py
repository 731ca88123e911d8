"""What the modules of this package declare for the pages that they share.

A module declares any of `NAVIGATION`, `USER_SECTIONS`, `TILES`, `PANELS` and `SEARCHES`, each a tuple of the class
below, and `NOTICES`: sentences that the page after a form shows once, by a name such as `user-banned`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from domain.context import Context
from domain.policy import Policy
from domain.users import roles
from domain.users.policy import Permission
from handlers import console
from handlers.console.view import ConsoleView
from models.discovery import declared, merged
from models.user import UserRow

Entry = TypeVar("Entry", "NavigationItem", "UserSection", "Tile", "Panel", "Search")


def _always(_: Policy) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class NavigationItem:
    """An entry of the navigation: the first page of a capability."""

    path: str
    """Below `console.path`."""
    label: str
    """The English text, marked with N_."""
    permission: Permission | None
    """What callers need to see it; None: every administrator."""
    position: int
    exists: Callable[[Policy], bool] = _always
    """Whether the capability is switched on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSection:
    """A section of the page of one user."""

    name: str
    """The id of the section on the page, and the name of its template: `console/sections/<name>.html`."""
    label: str
    permission: Permission | None
    position: int
    load: Callable[[Context, ConsoleView, UserRow], Awaitable[Mapping[str, Any]]]
    """Returns the values of the template, which are in its variable `section`: a few rows, and `all_url`, the page with
    all of them, if there are more."""
    exists: Callable[[Policy], bool] = _always


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the overview: its value, None if it could not be counted in time, and the page that lists it."""

    label: str
    value: int | None
    url: str | None = None
    is_bad: bool = False
    """Whether somebody should look at it."""
    details: Sequence["Figure"] = ()
    """Smaller figures below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Figures of the overview."""

    permission: Permission | None
    position: int
    load: Callable[[Context, ConsoleView], Awaitable[Sequence[Figure]]]
    exists: Callable[[Policy], bool] = _always


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A part of the overview below the figures, such as the latest events."""

    name: str
    """The id of the panel on the page, and the name of its template: `console/panels/<name>.html`."""
    label: str
    permission: Permission | None
    position: int
    load: Callable[[Context, ConsoleView], Awaitable[Mapping[str, Any]]]
    """Returns the values of the template, which are in its variable `panel`, and `all_url`, the page with more."""
    is_wide: bool = False
    """Whether it has the width of the page."""
    exists: Callable[[Policy], bool] = _always


@dataclass(frozen=True, slots=True)
class Hit:
    """A result of the search."""

    title: str
    detail: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A kind of things that the search box finds."""

    label: str
    permission: Permission
    position: int
    find: Callable[[Context, ConsoleView, str], Awaitable[Sequence[Hit]]]
    """Returns the best results, at most five."""
    list_path: str
    """The page with all results; the text is its parameter `search`."""
    exists: Callable[[Policy], bool] = _always


def navigation(policy: Policy, user: UserRow) -> Sequence[NavigationItem]:
    """Return the entries that a user may open, in order."""
    return _visible_to(policy, user, _declared("NAVIGATION"))


def user_sections(ctx: Context) -> Sequence[UserSection]:
    """Return the sections that the caller may see, in order."""
    return _visible(ctx, _declared("USER_SECTIONS"))


def tiles(ctx: Context) -> Sequence[Tile]:
    """Return the tiles that the caller may see, in order."""
    return _visible(ctx, _declared("TILES"))


def panels(ctx: Context) -> Sequence[Panel]:
    """Return the panels of the overview that the caller may see, in order."""
    return _visible(ctx, _declared("PANELS"))


def searches(ctx: Context) -> Sequence[Search]:
    """Return the searches that the caller may make, in order."""
    return _visible(ctx, _declared("SEARCHES"))


def is_offered(ctx: Context, path: str) -> bool:
    """Return whether the navigation of the caller has the page at this path, such as `/audit`."""
    return any(entry.path == path for entry in navigation(ctx.policy, ctx.signed_in.user))


def notice(name: str) -> str | None:
    """Return the English text of a notice; None for an unknown name, which a browser may send."""
    return merged(console, "NOTICES").get(name)


def may(ctx: Context, resource: str, action: str) -> bool:
    """Return whether the caller has a permission, so that a page shows what needs it; the rule checks it again."""
    return roles.permits(ctx.policy, ctx.signed_in.user, resource, action)


def _visible(ctx: Context, entries: Sequence[Entry]) -> Sequence[Entry]:
    return _visible_to(ctx.policy, ctx.signed_in.user, entries)


def _visible_to(policy: Policy, user: UserRow, entries: Sequence[Entry]) -> Sequence[Entry]:
    return [
        entry
        for entry in entries
        if entry.exists(policy)
        and (entry.permission is None or roles.permits(policy, user, *entry.permission))
    ]


@cache
def _declared(name: str) -> Sequence[Any]:
    return sorted(declared(console, name), key=attrgetter("position"))
