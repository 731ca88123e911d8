"""Pages that show secrets once: the form that creates them redirects to a page, which reads them from a cookie."""

from collections.abc import Mapping
from typing import Any

from domain.context import Context
from domain.pages import shown_once
from handlers.pages.view import View
from handlers.responses import cookies
from handlers.responses.reply import Header, Redirect


def redirect(ctx: Context, view: View, page: str, **content: Any) -> Redirect:
    """Return the redirect to a page that shows this content until the user goes on or some minutes have passed."""
    sealed = shown_once.seal(ctx, view.action(page), content)
    max_age = int(shown_once.LIFE.total_seconds())
    return view.redirect(page, (cookies.set_shown_once(ctx.policy.cookies, sealed, max_age=max_age),))


def content_of(ctx: Context, view: View, page: str) -> Mapping[str, Any] | None:
    """Return the content that a page shows, or None if it is not shown any more."""
    found = (shown_once.unseal(ctx, view.action(page), sealed) for sealed in _sent(ctx))
    return next((content for content in found if content is not None), None)


def forget(ctx: Context) -> tuple[Header, ...]:
    """Return the header that ends the showing, if the browser has such content."""
    return (cookies.clear_shown_once(ctx.policy.cookies),) if _sent(ctx) else ()


def _sent(ctx: Context) -> tuple[str, ...]:
    return tuple(ctx.cookies.values(cookies.shown_once_name(ctx.policy.cookies).encode()))
