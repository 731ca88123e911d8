"""The emails about passwords."""

from domain import urls
from domain.context import Context
from domain.mail.formats import COUNT, TEXT
from domain.mail.messages import Recipient, notify, queue_mail, queue_request
from domain.mail.templates import MailTemplate, Variable, link_to
from domain.pages.links import mailed_page, page_url
from domain.passwords.policy import PasswordResetPolicy

RESET_PASSWORD = MailTemplate(
    "reset-password",
    "a password reset is requested",
    (link_to("reset-password"),),
    on_request=True,
)
PASSWORD_CHANGED = MailTemplate(
    "password-changed",
    "a notice: the password was changed or reset",
    (
        Variable("enabled_keys", COUNT, "after a reset, how many API keys still work; empty for none", 2),
        Variable("passkeys", COUNT, "how many passkeys still sign in; empty for none", 1),
    ),
)

ORGANIZATION_SIGN_IN = MailTemplate(
    "organization-sign-in",
    "a password reset is requested for an address whose domain requires the sign-in of its organization",
    (
        Variable(
            "link",
            TEXT,
            "the sign-in page; empty without hosted pages",
            "https://auth.example.com/account/sign-in",
        ),
    ),
)


def reset_password(ctx: Context, user: Recipient, token: str, redirect_to: str | None) -> None:
    """Queue the email with the link to choose a new password, on the page `redirect_to`, else on the hosted page."""
    reset = ctx.policy[PasswordResetPolicy]
    page = mailed_page(ctx.policy, "/reset-password", token, redirect_to)
    link = page or urls.public_url(ctx.policy, f"/reset-password/{token}", callbackURL=redirect_to)
    queue_mail(ctx, RESET_PASSWORD, user, sender=reset.sender, link=link, expires_in=reset.token_expires_in)


async def password_changed(
    ctx: Context, user: Recipient, *, enabled_keys: int = 0, passkeys: int = 0
) -> None:
    """Queue a notice to a user that their password was changed or reset.

    `enabled_keys` and `passkeys` are the numbers of API keys and passkeys that remain valid; a mere change passes no
    API keys.
    """
    await notify(ctx, PASSWORD_CHANGED, user, enabled_keys=enabled_keys, passkeys=passkeys)


def queue_reset_request(ctx: Context, email: str, redirect_to: str | None) -> None:
    """Queue a request for a reset link; the worker looks up the user of `email` later, and sends the link."""
    queue_request(ctx, RESET_PASSWORD, ctx.policy[PasswordResetPolicy].sender, email, redirect_to)


def sign_in_with_organization(ctx: Context, user: Recipient) -> None:
    """Queue an email that leads a user to the sign-in of their organization.

    It replaces the reset link for users who must sign in there, and so cannot use a password.
    """
    sender = ctx.policy[PasswordResetPolicy].sender
    queue_mail(ctx, ORGANIZATION_SIGN_IN, user, sender=sender, link=page_url(ctx.policy, "/sign-in"))
