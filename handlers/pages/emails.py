"""The pages to verify or change an email address, and to confirm that an email was sent."""

from domain import urls
from domain.context import Context
from domain.emails import emails
from domain.emails.policy import EmailVerificationPolicy
from domain.localization import N_
from domain.ports import Mailbox
from handlers import shapes
from handlers.pages import authorization
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

_SENT = {
    "verify": N_("We have sent you a link. Open it to verify your email address, then sign in."),
    "reset": N_("If there is an account with this address, we have sent a link that resets the password."),
    "link": N_("If the address can be used to sign in, we have sent a link to it."),
    "verification": N_("If the address has an account and is not verified, we have sent a link to it."),
    "delete": N_("We have sent you a link. Open it to delete your account."),
}


# pages.show_mail_sent
async def show_mail_sent(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    reason: str | None = None,
    email: str | None = None,
) -> Page:
    """Show that an email was sent, and what the user does next. `reason` names the kind of email, such as `reset`."""
    view = views.view(ctx, "/mail-sent", callback_url, ui_locales, reason=reason)
    view = await authorization.named(ctx, view)
    sentence = view.localization.gettext(_SENT.get(reason or "", _SENT["verification"]))
    return view.render("mail_sent.html", sentence=sentence, mailbox=_mailbox(ctx))


# pages.show_verify_email
async def show_verify_email(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    token: str | None = None,
    reason: str | None = None,
) -> Page:
    """Ask for confirmation before a mailed link is used, or show the outcome."""
    view = views.view(ctx, "/verify-email", callback_url, ui_locales, token=token, reason=reason)
    link = await emails.peek(ctx, token) if token else None
    return view.render(
        "verify_email.html",
        state=reason,
        changes=reason in ("change", "changed") or (link is not None and link.account is not None),
        link=link,
        token=token,
        again=view.url("/verify-email", token=token, reason=reason),
        target=view.finish().location,
        can_send=ctx.policy[EmailVerificationPolicy].enabled,
    )


# pages.verify_email
async def verify_email(ctx: Context, body: shapes.MailedTokenForm) -> Redirect:
    """Verify or change an email address with the token of a mailed link."""
    view = views.view(ctx)
    link = await emails.peek(ctx, body["token"])
    await emails.verify(ctx, body["token"])
    changed = link is not None and link.account is not None
    return view.redirect("/verify-email", reason="changed" if changed else "verified")


# pages.send_verification_email
async def send_verification_email(ctx: Context, body: shapes.ForgotPasswordForm) -> Redirect:
    """Request a new verification link; the response is the same for every address."""
    view = views.view(ctx)
    await emails.send_verification(ctx, body["email"].strip(), view.url("/verify-email"))
    return view.redirect("/mail-sent", reason="verification")


def _mailbox(ctx: Context) -> str | None:
    """Return the URL of the page that lists sent emails in development, otherwise None."""
    return None if ctx.port.get(Mailbox) is None else urls.public_url(ctx.policy, "/dev/mailbox")
