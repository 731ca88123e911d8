"""The page of the account history: sign-ins and changes of the last 90 days."""

from domain.audit import history
from domain.context import Context
from domain.keyset import Position
from domain.localization import N_
from handlers.account_pages import events, layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import view as views
from handlers.responses.reply import Page
from models.base import from_milliseconds, to_milliseconds

ACCOUNT_NAVIGATION = (NavigationItem(path="/history", label=N_("Sign-in history"), position=110),)


# account_pages.show_history
async def show_history(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, before: str | None = None
) -> Page:
    """Show sign-ins and changes of the last 90 days, newest first.

    Only events before the position `before` are shown; a malformed position counts as absent.
    """
    view = views.view(ctx, "/history", callback_url, ui_locales, before=before)
    start = _position(before or "")
    page = await history.page_of_caller(ctx, start)
    return layout.render(
        ctx,
        view,
        "history.html",
        entries=events.entries(ctx, view.localization, page.records),
        older=page.last and f"{to_milliseconds(page.last.time)}.{page.last.id}",
        is_first=start is None,
        days=history.SHOWN_FOR.days,
    )


def _position(written: str) -> Position | None:
    """Parse the position where a page begins; return None if the text, which is untrusted, is malformed."""
    milliseconds, _, record_id = written.partition(".")
    # 14 digits reach beyond the year 5000; more would only overflow.
    if not (milliseconds.isascii() and milliseconds.isdecimal() and len(milliseconds) <= 14 and record_id):
        return None
    try:
        return Position(from_milliseconds(int(milliseconds)), record_id)
    except OverflowError:
        return None
