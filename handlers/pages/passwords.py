"""The pages for a forgotten password."""

from dataclasses import replace

from domain.context import Context
from domain.passwords import passwords
from domain.passwords.policy import PasswordResetPolicy
from handlers import shapes
from handlers.pages import authorization, sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect


# pages.show_forgot_password
async def show_forgot_password(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    email: str | None = None,
    reason: str | None = None,
) -> Page:
    """Ask for the email address of the account whose password is forgotten."""
    view = views.view(ctx, "/forgot-password", callback_url, ui_locales, email=email)
    view = await authorization.named(ctx, view)
    dead = view.localization.gettext("This link has been used or is no longer valid. Ask for a new one.")
    return view.render(
        "forgot_password.html",
        email=email or "",
        notice=dead if reason == "dead" else None,
        can_reset=sign_in_methods.offered(ctx)["can_reset"],
    )


# pages.request_password_reset
async def request_password_reset(ctx: Context, body: shapes.ForgotPasswordForm) -> Redirect:
    """Request a link that resets the password; the response is the same for every address."""
    view = views.view(ctx)
    passwords.request_reset(ctx, body["email"].strip(), view.url("/reset-password"))
    return view.redirect("/mail-sent", reason="reset")


# pages.show_reset_password
async def show_reset_password(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, token: str | None = None
) -> Page | Redirect:
    """Ask for a new password; redirect to the page that requests a new link if the link is no longer valid."""
    view = views.view(ctx, "/reset-password", callback_url, ui_locales, token=token)
    if not token or not await passwords.is_reset_token(ctx, token):
        return view.redirect("/forgot-password", reason="dead")
    ends = ctx.policy[PasswordResetPolicy].revoke_sessions
    return view.render(
        "reset_password.html", token=token, ends_sessions=ends, **sign_in_methods.password_rules(ctx)
    )


# pages.reset_password
async def reset_password(ctx: Context, body: shapes.ResetPasswordForm) -> Redirect:
    """Set the new password, and redirect to the sign-in page.

    If access to the account was removed, a page that shows it follows the sign-in.
    """
    view = views.view(ctx)
    done = await passwords.reset(ctx, body["token"], body["newPassword"])
    # Shown after the sign-in, because the reset itself opens no session.
    if done.removed_access:
        view = replace(view, callback_url=view.url("/removed-access"))
    # `prompt`, because a browser with a session would otherwise be asked whether to continue with it.
    return view.redirect("/sign-in", reason="reset", prompt="login")


# pages.find_change_password
async def find_change_password(ctx: Context) -> Redirect:
    """Redirect password managers to the page that changes the password."""
    return views.view(ctx, None).redirect("/password")
