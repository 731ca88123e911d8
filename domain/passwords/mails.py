"""The emails about passwords."""

from domain import urls
from domain.context import Context
from domain.mail.formats import COUNT
from domain.mail.messages import Recipient, notify, queue_mail, queue_request
from domain.mail.templates import MailTemplate, Variable, link_to
from domain.pages.links import mailed_page
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


def reset_password(ctx: Context, user: Recipient, token: str, redirect_to: str | None) -> None:
    """Email the link that lets the user choose a new password: on `redirect_to`, else on the hosted page."""
    reset = ctx.policy[PasswordResetPolicy]
    page = mailed_page(ctx.policy, "/reset-password", token, redirect_to)
    link = page or urls.public_url(ctx.policy, f"/reset-password/{token}", callbackURL=redirect_to)
    queue_mail(ctx, RESET_PASSWORD, user, sender=reset.sender, link=link, expires_in=reset.token_expires_in)


async def password_changed(
    ctx: Context, user: Recipient, *, enabled_keys: int = 0, passkeys: int = 0
) -> None:
    """Notify the user that the password was changed or reset, with the numbers of passkeys and, after a reset, of API
    keys that remain valid."""
    await notify(ctx, PASSWORD_CHANGED, user, enabled_keys=enabled_keys, passkeys=passkeys)


def queue_reset_request(ctx: Context, email: str, redirect_to: str | None) -> None:
    """Queue a request to reset the password of `email`; the worker looks up the user."""
    queue_request(ctx, RESET_PASSWORD, ctx.policy[PasswordResetPolicy].sender, email, redirect_to)
