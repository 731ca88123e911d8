"""The page of the mailed link that deletes an account."""

from domain.context import Context
from domain.user_deletion import deletion
from handlers import shapes
from handlers.pages import view as views
from handlers.pages.signed_in import other_account
from handlers.reply import Page, Redirect
from handlers.session_responses import sign_out_response


async def show_delete_account(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, token: str | None = None
) -> Page:
    """Ask for a click before the account is deleted."""
    view = views.view(ctx, "/delete", callback_url, ui_locales, token=token)
    is_dead = not token or view.form.code == "INVALID_TOKEN"
    return view.render("delete_account.html", token=None if is_dead else token)


async def delete_account(ctx: Context, body: shapes.DeleteAccountForm) -> Page | Redirect:
    """Delete the account, and say so."""
    view = views.of_form(ctx, body)
    if (refused := other_account(ctx, view, body)) is not None:
        return refused
    await deletion.confirm(ctx, body["token"])
    return view.lead("/sign-in", sign_out_response(ctx, None).headers, reason="deleted", prompt="login")
