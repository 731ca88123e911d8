"""The page through which a browser leaves the hosted pages for another site."""

from urllib.parse import urlsplit

from domain.context import Context
from domain.pages import leaving
from handlers.pages import view as views
from handlers.responses.reply import Page


# pages.show_leaving
async def show_leaving(ctx: Context, ui_locales: str | None = None, target: str | None = None) -> Page:
    """Show a page that navigates to the encrypted `target` automatically, and contains a link to it.

    Raises InvalidTarget if the target was changed or has expired.
    """
    # Encrypted by the service, so that no other page can use this one to lead users to a URL of its choice.
    url = leaving.target_of(ctx, target or "")
    view = views.view(ctx, None, ui_locales=ui_locales)
    return view.render("leaving.html", target=url, name=name_of(url))


def name_of(url: str) -> str:
    """Return the host and port of a URL, or the scheme of a URL with a custom scheme, which needs no host."""
    parts = urlsplit(url)
    return parts.netloc if parts.scheme in ("http", "https") else parts.scheme
