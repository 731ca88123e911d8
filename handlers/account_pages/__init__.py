"""The operations of openapi/paths/account_pages.yaml: the pages of one's own account."""

from domain.context import Context
from handlers.account_pages import frame
from handlers.pages import view as views
from handlers.pages import ways_in
from handlers.reply import Page


async def show_overview(ctx: Context, callback_url: str | None = None, ui_locales: str | None = None) -> Page:
    """Show who is signed in, and what is known about them."""
    view = views.view(ctx, "", callback_url, ui_locales)
    return frame.render(ctx, view, "overview.html", **ways_in.offered(ctx))
