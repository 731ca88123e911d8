"""The page that tells users which access was removed when they first proved that an email address is theirs.

A stranger may have set up that access before.
"""

from domain.audit import history
from domain.context import Context
from domain.users import unproven
from domain.users.events import UNPROVEN_ACCESS_REMOVED
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect


# account_pages.show_removed_access
async def show_removed_access(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show which access was removed and why, with a link to set a password; redirect if none was removed."""
    view = views.view(ctx, "/removed-access", callback_url, ui_locales)
    latest = await history.page_of_caller(ctx, event=UNPROVEN_ACCESS_REMOVED, limit=1)
    removed = unproven.by_label(latest.records[0].details) if latest.records else {}
    if not removed:
        return view.finish()
    return view.render(
        "removed_access.html",
        removed=[(view.localization.gettext(label), number) for label, number in removed.items()],
        can_set_password=sign_in_methods.offered(ctx)["can_reset"]
        and not await sign_in_methods.has_password(ctx),
        target=view.finish().location,
    )
