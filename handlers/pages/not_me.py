"""The page of the link "This was not me" in emails: it deletes an account that another person created."""

from domain.context import Context
from domain.user_deletion import disowning
from handlers import shapes
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

_DELETED = "deleted"


# pages.show_not_me
async def show_not_me(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    token: str | None = None,
    reason: str | None = None,
) -> Page:
    """Show the account to be deleted and ask for confirmation, or show the outcome."""
    view = views.view(ctx, "/not-me", callback_url, ui_locales, token=token, reason=reason)
    user = await disowning.peek(ctx, token) if token else None
    return view.render(
        "not_me.html",
        is_deleted=reason == _DELETED,
        user=user,
        token=token,
        can_sign_up=sign_in_methods.offered(ctx)["can_sign_up"],
    )


# pages.disown
async def disown(ctx: Context, body: shapes.MailedTokenForm) -> Redirect:
    """Delete the account, and redirect to the page with the outcome."""
    view = views.view(ctx)
    await disowning.disown(ctx, body["token"])
    return view.redirect("/not-me", reason=_DELETED)


# pages.begin_disowning
async def begin_disowning(ctx: Context, body: shapes.PageForm) -> Redirect:
    """Redirect a user whose sign-in is pending to the page that deletes the account."""
    view = views.view(ctx)
    return view.redirect("/not-me", token=await disowning.begin(ctx))
