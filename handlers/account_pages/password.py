"""The page where users change their password, or request a link that sets one."""

from domain.context import Context
from domain.localization import N_
from domain.passwords import passwords
from handlers import shapes, wire
from handlers.account_pages import layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import session_cookies, trusted_device_cleared

ACCOUNT_NAVIGATION = (NavigationItem(path="/password", label=N_("Password"), position=40),)

_NOTICES = {
    "changed": N_("Your password is changed."),
    "sent": N_("We have sent you a link. Open it to set a password."),
}


# account_pages.show_password
async def show_password(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show a form that changes the password; for a user without a password, a button that sends a link to set one."""
    view = views.view(ctx, "/password", callback_url, ui_locales, reason=reason)
    return layout.render(
        ctx,
        view,
        "password.html",
        notices=_NOTICES,
        reason=reason,
        has_password=await sign_in_methods.has_password(ctx),
        can_reset=sign_in_methods.offered(ctx)["can_reset"],
        **sign_in_methods.password_rules(ctx),
    )


# account_pages.change_password
async def change_password(ctx: Context, body: shapes.PasswordChangeForm) -> Redirect:
    """Change the password, and sign out all other sessions if requested."""
    view = views.view(ctx)
    opened = await passwords.change(
        ctx,
        body["currentPassword"],
        body["newPassword"],
        revoke_others=wire.flag(body.get("revokeOtherSessions")),
    )
    headers = () if opened is None else session_cookies(ctx, opened)
    return view.redirect("/password", (*headers, *trusted_device_cleared(ctx)), reason="changed")


# account_pages.send_password_link
async def send_password_link(ctx: Context, body: shapes.AccountForm) -> Redirect:
    """Send a link that sets a password."""
    view = views.view(ctx)
    passwords.request_reset(ctx, ctx.signed_in.user.email, view.url("/reset-password"))
    return view.redirect("/password", reason="sent")
