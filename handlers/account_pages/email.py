"""The page where users change their email address, or request its verification link again."""

from domain import identifiers
from domain.context import Context
from domain.emails import emails
from domain.emails.policy import ChangeEmailPolicy, EmailVerificationPolicy
from domain.localization import N_
from domain.sessions import expiry
from handlers import shapes
from handlers.account_pages import layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import texts
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ACCOUNT_NAVIGATION = (NavigationItem(path="/email", label=N_("Email address"), position=30),)

_NOTICES = {
    "changed": N_("If no other account has the new address, it is yours now."),
    "sent": N_("We have sent a link to the new address. The change takes effect when you open it."),
    "verification": N_("We have sent you a link. Open it to verify your email address."),
}


# account_pages.show_email
async def show_email(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    reason: str | None = None,
    error: str | None = None,
) -> Page:
    """Show the email address, a form that changes it, and a button that sends the verification link again."""
    view = views.view(ctx, "/email", callback_url, ui_locales, reason=reason)
    sentences = texts.error_texts()
    sentence = sentences.get(error or "", sentences["INVALID_TOKEN"])
    return layout.render(
        ctx,
        view,
        "email.html",
        notices=_NOTICES,
        reason=reason,
        problem=view.localization.gettext(sentence) if error else None,
        can_change=ctx.policy[ChangeEmailPolicy].enabled,
        can_verify=ctx.policy[EmailVerificationPolicy].enabled,
    )


# account_pages.change_email
async def change_email(ctx: Context, body: shapes.EmailChangeForm) -> Redirect:
    """Change the email address at once, or send a link that changes it."""
    view = views.view(ctx)
    at_once = await emails.change(
        ctx,
        identifiers.email(body["newEmail"].strip()),
        _link_target(view),
    )
    return view.redirect("/email", reason="changed" if at_once else "sent")


# account_pages.send_verification_email
async def send_verification_email(ctx: Context, body: shapes.AccountForm) -> Redirect:
    """Send the link that verifies the email address once more."""
    view = views.view(ctx)
    await emails.send_verification(
        ctx,
        ctx.signed_in.user.email,
        _link_target(view),
    )
    # Not the page of the email address, because that would require a fresh sign-in first.
    return view.redirect("/email" if expiry.is_fresh(ctx) else "/mail-sent", reason="verification")


def _link_target(view: views.View) -> str:
    """Return the URL of the page that a mailed link opens; that page links back to the page of the email address."""
    return view.url("/verify-email", callbackURL=view.url("/email", callbackURL=None))
