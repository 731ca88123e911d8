"""The page where a user chooses the account with which to continue to an application."""

from urllib.parse import urlencode

from domain.context import Context
from domain.oauth_requests import consent as consents
from domain.oauth_requests import details
from handlers import shapes
from handlers.pages import authorization
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect


# oauth_pages.show_account_choice
async def show_account_choice(
    ctx: Context, callback_url: str | None = None, request: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask whether to continue to an application with the current account; redirect if a sign-in is needed first."""
    found = await details.read(ctx, request or "")
    if found.reason is not None:
        return Redirect(found.continue_url)
    view = views.view(
        ctx, "/select-account", callback_url, ui_locales or authorization.languages(found), request=request
    )
    return view.render(
        "select_account.html",
        request=request,
        client=found.asked.client,
        other_account=view.url("/sign-in", prompt="login", callbackURL=found.continue_url),
    )


# oauth_pages.select_account
async def select_account(ctx: Context, body: shapes.SelectedAccountForm) -> Redirect:
    """Record that the user has chosen the current account, and continue the authorization request."""
    query = urlencode({"request": body["request"]})
    return Redirect(await consents.continue_request(ctx, query, selected=True, created=False))
