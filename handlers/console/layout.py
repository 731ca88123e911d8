"""The frame around all pages of the console: navigation, search box, environment label, and a notice shown once."""

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
    """Return a page of the console, rendered from the template `console/<template>` with `values`.

    `search` is the text in the search box. `frames` allows the page to embed other pages of this service. A notice that
    `done` has stored in a cookie is shown, and the cookie is cleared.
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
    """Return the template values for the frame around a page, whose path below `console.path` is `path`.

    `notice` is an English text to show. If `user` is None, there is no navigation, search box or account menu.
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
    """Return the redirect after a form to `page`, a path such as `/users`, which shows a notice once.

    `notice` is a key of the `NOTICES` that a module declares.
    """
    return done_at(ctx, view.url(page), notice)


def done_at(ctx: Context, url: str, notice: str) -> Redirect:
    """Return the redirect to the URL of a page of the console, which shows a notice once as after `done`."""
    return Redirect(url, (cookies.set_notice(ctx.policy.cookies, notice),))


class _Entry(NamedTuple):
    """A link of the navigation."""

    url: str
    label: str
    is_current: bool


def _navigation(view: ConsoleView, user: UserRow, here: str) -> Sequence[_Entry]:
    """Return the entries of the navigation.

    The current entry is the one with the longest path that is `here` or above `here`.
    """
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
