"""The overview of the user's own account."""

from domain.accounts import accounts
from domain.audit import history
from domain.context import Context
from domain.localization import N_
from domain.passkeys import passkeys
from domain.passkeys.policy import PasskeyPolicy
from handlers.account_pages import events, layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import view as views
from handlers.responses.reply import Page
from models import CREDENTIAL

ACCOUNT_NAVIGATION = (NavigationItem(path="", label=N_("Overview"), position=10),)

_LATEST = 5


# account_pages.show_overview
async def show_overview(ctx: Context, callback_url: str | None = None, ui_locales: str | None = None) -> Page:
    """Show the signed-in user, how the account is protected, and recent events."""
    view = views.view(ctx, "", callback_url, ui_locales)
    linked = {row.provider_id for row in await accounts.of_caller(ctx)}
    latest = await history.page_of_caller(ctx, limit=_LATEST)
    return layout.render(
        ctx,
        view,
        "overview.html",
        has_password=CREDENTIAL in linked,
        passkeys=len(await passkeys.list_own(ctx)) if ctx.policy[PasskeyPolicy].enabled else None,
        entries=events.entries(ctx, view.localization, latest.records),
    )
