"""The frame of all pages of the console: navigation, search, environment label, and a notice that is shown once."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.policy import Policy
from domain.users import roles
from handlers.console import registry
from handlers.console.view import ConsoleView
from handlers.pages.assets import console_assets
from handlers.responses import cookies
from handlers.responses.reply import Header, Page, Redirect
from models.user import UserRow


def render(
    ctx: Context,
    view: ConsoleView,
    template: str,
    /,
    *,
    status: int = 200,
    search: str = "",
    frames: bool = False,
    headers: tuple[Header, ...] = (),
    **values: Any,
) -> Page:
    """Return a page of the console: a template below `console/`, with these values.

    `search` is the text in the search box; with `frames` the page may have frames with other pages of this service.
    """
    name = cookies.notice_name(ctx.policy.cookies)
    sent = ctx.cookies.values(name.encode())
    notice = registry.notice(sent[0]) if sent else None
    return view.render(
        f"console/{template}",
        status=status,
        frames=frames,
        headers=(*headers, cookies.clear_notice(ctx.policy.cookies)) if sent else headers,
        **frame(view, ctx.signed_in.user, view.page or "", notice=notice, search=search),
        **values,
    )


def frame(
    view: ConsoleView, user: UserRow | None, path: str, *, notice: str | None = None, search: str = ""
) -> Mapping[str, Any]:
    """Return the values of the frame for a user, and for the page at this path below `console.path`.

    Without a user it has no navigation, no search and no account menu.
    """
    return {
        "navigation": [] if user is None else _navigation(view, user, path),
        "console": view.policy[ConsolePolicy],
        "console_assets": console_assets(view.policy),
        "account": user and user.email,
        "notice": notice and view.localization.gettext(notice),
        "search": search,
        "may": partial(_may, view.policy, user),
    }


def _may(policy: Policy, user: UserRow | None, resource: str, action: str) -> bool:
    return user is not None and roles.permits(policy, user, resource, action)


def done(ctx: Context, view: ConsoleView, page: str, notice: str) -> Redirect:
    """Return the redirect after a form: to a page that shows a notice of `NOTICES` once."""
    return done_at(ctx, view.url(page), notice)


def done_at(ctx: Context, url: str, notice: str) -> Redirect:
    """Return the redirect to the URL of a page of the console, which shows a notice of `NOTICES` once."""
    return Redirect(url, (cookies.set_notice(ctx.policy.cookies, notice),))


class _Entry(NamedTuple):
    """A link of the navigation."""

    url: str
    label: str
    is_current: bool


def _navigation(view: ConsoleView, user: UserRow, here: str) -> Sequence[_Entry]:
    """Return the entries of the navigation; the longest path that the page is below is the current one."""
    entries = registry.navigation(view.policy, user)
    # The overview is above all pages, so that it is only current itself.
    holding = [
        entry.path
        for entry in entries
        if here == entry.path or (entry.path and here.startswith(f"{entry.path}/"))
    ]
    current = max(holding, key=len, default=None)
    return [
        _Entry(view.url(entry.path), view.localization.gettext(entry.label), entry.path == current)
        for entry in entries
    ]
