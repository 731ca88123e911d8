"""Pages that show a new secret only once, such as the text of an API key.

The form that creates the secret redirects to the page, with the secret in an encrypted cookie. The page can be reloaded
for five minutes, or until another page clears the cookie.
"""

from collections.abc import Mapping
from typing import Any

from domain.context import Context
from domain.pages import shown_once
from handlers.pages.view import View
from handlers.responses import cookies
from handlers.responses.reply import Header, Redirect


def redirect(ctx: Context, view: View, page: str, **content: Any) -> Redirect:
    """Return the redirect to `page`, with a cookie that holds the encrypted `content` for five minutes."""
    sealed = shown_once.seal(ctx, view.action(page), content)
    max_age = int(shown_once.LIFE.total_seconds())
    return view.redirect(page, (cookies.set_shown_once(ctx.policy.cookies, sealed, max_age=max_age),))


def content_of(ctx: Context, view: View, page: str) -> Mapping[str, Any] | None:
    """Return the content that `redirect` stored for `page`.

    None if the browser sent no such cookie, or its content is expired or belongs to another page or session.
    """
    found = (shown_once.unseal(ctx, view.action(page), sealed) for sealed in _sent(ctx))
    return next((content for content in found if content is not None), None)


def forget(ctx: Context) -> tuple[Header, ...]:
    """Return the header that clears the cookie with the content; empty if the browser sent no such cookie."""
    return (cookies.clear_shown_once(ctx.policy.cookies),) if _sent(ctx) else ()


def _sent(ctx: Context) -> tuple[str, ...]:
    return tuple(ctx.cookies.values(cookies.shown_once_name(ctx.policy.cookies).encode()))
