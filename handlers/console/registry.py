"""The classes with which modules of this package declare their parts of the shared pages of the console.

A module can declare the tuples `NAVIGATION`, `USER_SECTIONS`, `TILES`, `PANELS` and `SEARCHES`, of `NavigationItem`,
`UserSection`, `Tile`, `Panel` and `Search`. It can also declare `NOTICES`: sentences that the page after a form shows
once, by a name such as `user-banned`.
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
    """An entry of the navigation, which links to the first page of a feature."""

    path: str
    """The path of the page below `console.path`, such as `/users`; empty for the overview."""
    label: str
    """The English text, marked with N_."""
    permission: Permission | None
    """The permission that callers need to see the entry; None if every administrator sees it."""
    position: int
    exists: Callable[[Policy], bool] = _always
    """Returns whether the settings enable the feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSection:
    """A section on the page of one user."""

    name: str
    """The id of the section on the page, and the name of its template: `console/sections/<name>.html`."""
    label: str
    permission: Permission | None
    position: int
    load: Callable[[Context, ConsoleView, UserRow], Awaitable[Mapping[str, Any]]]
    """Returns the template values of the section, which the template finds in its variable `section`: some rows and, if
    there are more, `all_url`, the URL of the page with all of them."""
    exists: Callable[[Policy], bool] = _always


@dataclass(frozen=True, slots=True)
class Figure:
    """A number on the overview.

    `value` is None if it could not be counted in time. `url` is the page that lists what was counted.
    """

    label: str
    value: int | None
    url: str | None = None
    is_bad: bool = False
    """Whether a value above 0 is highlighted as a problem."""
    details: Sequence["Figure"] = ()
    """Further figures, which are shown smaller below this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A group of figures on the overview."""

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
    """Returns the template values of the panel, which the template finds in its variable `panel`. `all_url` is the page
    with more."""
    is_wide: bool = False
    """Whether the panel has the full width of the page."""
    exists: Callable[[Policy], bool] = _always


@dataclass(frozen=True, slots=True)
class Hit:
    """A result of the search."""

    title: str
    detail: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The search for one kind of object, such as users, by which the search box finds them."""

    label: str
    permission: Permission
    position: int
    find: Callable[[Context, ConsoleView, str], Awaitable[Sequence[Hit]]]
    """Returns the best results for a text, at most five."""
    list_path: str
    """The path of the page with all results, whose query parameter `search` is the text."""
    exists: Callable[[Policy], bool] = _always


def navigation(policy: Policy, user: UserRow) -> Sequence[NavigationItem]:
    """Return the entries of the navigation that a user may open, sorted by `position`."""
    return _visible_to(policy, user, _declared("NAVIGATION"))


def user_sections(ctx: Context) -> Sequence[UserSection]:
    """Return the sections of a user's page that the caller may see, sorted by `position`."""
    return _visible(ctx, _declared("USER_SECTIONS"))


def tiles(ctx: Context) -> Sequence[Tile]:
    """Return the tiles of the overview that the caller may see, sorted by `position`."""
    return _visible(ctx, _declared("TILES"))


def panels(ctx: Context) -> Sequence[Panel]:
    """Return the panels of the overview that the caller may see, sorted by `position`."""
    return _visible(ctx, _declared("PANELS"))


def searches(ctx: Context) -> Sequence[Search]:
    """Return the kinds of things that the caller may search, sorted by `position`."""
    return _visible(ctx, _declared("SEARCHES"))


def is_offered(ctx: Context, path: str) -> bool:
    """Return whether the caller's navigation has an entry with this path, such as `/audit`."""
    return any(entry.path == path for entry in navigation(ctx.policy, ctx.signed_in.user))


def notice(name: str) -> str | None:
    """Return the English text of a notice; None for an unknown name, because browsers may send any name."""
    return merged(console, "NOTICES").get(name)


def may(ctx: Context, resource: str, action: str) -> bool:
    """Return whether the caller has a permission, so that a page can hide what needs it. Operations check it again."""
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
