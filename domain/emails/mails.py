"""The emails about email addresses."""

from domain import urls
from domain.context import Context
from domain.emails.policy import EmailVerificationPolicy
from domain.mail.messages import Addressee, notify, queue_mail, queue_request
from domain.mail.policy import MailPolicy
from domain.pages.links import mailed_page


def verify_email(ctx: Context, user: Addressee, token: str, callback_url: str | None) -> None:
    """Email the link that verifies the stored address."""
    lives = ctx.policy[EmailVerificationPolicy].token_expires_in
    queue_mail(ctx, "verify-email", user, link=_link(ctx, token, callback_url), lives=lives)


def change_email(ctx: Context, user: Addressee, new_email: str, token: str, callback_url: str | None) -> None:
    """Email the link that makes `new_email` the user's address; it is sent there, so that opening it verifies the
    address."""
    lives = ctx.policy[EmailVerificationPolicy].token_expires_in
    queue_mail(ctx, "change-email", user, to=new_email, link=_link(ctx, token, callback_url), lives=lives)


def _link(ctx: Context, token: str, callback_url: str | None) -> str:
    """Return the link with the token: to the operation that redirects to `callback_url`, else to the hosted page."""
    page = mailed_page(ctx.policy, "/verify-email", token, callback_url)
    return page or urls.public_url(ctx.policy, "/verify-email", token=token, callbackURL=callback_url)


async def email_changed(ctx: Context, user: Addressee, old_email: str, *, was_verified: bool) -> None:
    """Notify the old address that it is no longer the user's."""
    await notify(ctx, "email-changed", user, to=old_email, is_verified=was_verified)


def queue_verification_request(ctx: Context, email: str, callback_url: str | None) -> None:
    """Queue a request, made without a session, to verify `email`."""
    queue_request(ctx, "verify-email", ctx.policy[MailPolicy].sender, email, callback_url)
