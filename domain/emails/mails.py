"""The emails about email addresses."""

from domain import urls
from domain.context import Context
from domain.emails.policy import EmailVerificationPolicy
from domain.mail.messages import Recipient, notify, queue_mail, queue_request
from domain.mail.policy import MailPolicy
from domain.mail.templates import MailTemplate, link_to
from domain.pages.links import mailed_page

_LINK = link_to("verify-email")
VERIFY_EMAIL = MailTemplate(
    "verify-email", "an email address is to be verified", (_LINK,), not_me_link=True, on_request=True
)
CHANGE_EMAIL = MailTemplate(
    "change-email", "a change of the email address is to be confirmed; goes to the new address", (_LINK,)
)
EMAIL_CHANGED = MailTemplate("email-changed", "a notice to the old address: the email address was changed")


def verify_email(ctx: Context, user: Recipient, token: str, callback_url: str | None) -> None:
    """Queue an email with the link that verifies the stored address of the user."""
    expires_in = ctx.policy[EmailVerificationPolicy].token_expires_in
    queue_mail(ctx, VERIFY_EMAIL, user, link=_link(ctx, token, callback_url), expires_in=expires_in)


def change_email(ctx: Context, user: Recipient, new_email: str, token: str, callback_url: str | None) -> None:
    """Queue an email to `new_email` with the link that makes it the user's address; opening the link verifies it."""
    expires_in = ctx.policy[EmailVerificationPolicy].token_expires_in
    link = _link(ctx, token, callback_url, reason="change")
    queue_mail(ctx, CHANGE_EMAIL, user, to=new_email, link=link, expires_in=expires_in)


def _link(ctx: Context, token: str, callback_url: str | None, *, reason: str | None = None) -> str:
    """Return the link with the token: to the operation that redirects to `callback_url`, else to the hosted page.

    `reason` tells the page what the link is for, even when the token is no longer valid.
    """
    page = mailed_page(ctx.policy, "/verify-email", token, callback_url, reason=reason)
    return page or urls.public_url(ctx.policy, "/verify-email", token=token, callbackURL=callback_url)


async def email_changed(ctx: Context, user: Recipient, old_email: str, *, was_verified: bool) -> None:
    """Notify the old address that it is no longer the user's."""
    await notify(ctx, EMAIL_CHANGED, user, to=old_email, is_verified=was_verified)


def queue_verification_request(ctx: Context, email: str, callback_url: str | None) -> None:
    """Queue a request, made without a session, for a verification link; the user is looked up in the background."""
    queue_request(ctx, VERIFY_EMAIL, ctx.policy[MailPolicy].sender, email, callback_url)
