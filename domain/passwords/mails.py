"""The emails about passwords."""

from domain import urls
from domain.context import Context
from domain.mail.messages import Addressee, notify, queue_mail, queue_request
from domain.pages.links import mailed_page
from domain.passwords.policy import PasswordResetPolicy


def reset_password(ctx: Context, user: Addressee, token: str, redirect_to: str | None) -> None:
    """Email the link that lets the user choose a new password: on `redirect_to`, else on the hosted page."""
    reset = ctx.policy[PasswordResetPolicy]
    page = mailed_page(ctx.policy, "/reset-password", token, redirect_to)
    link = page or urls.public_url(ctx.policy, f"/reset-password/{token}", callbackURL=redirect_to)
    queue_mail(ctx, "reset-password", user, sender=reset.sender, link=link, lives=reset.token_expires_in)


async def password_changed(
    ctx: Context, user: Addressee, *, enabled_keys: int = 0, passkeys: int = 0
) -> None:
    """Notify the user that the password was changed or reset, with the numbers of passkeys and, after a reset, of API
    keys that remain valid."""
    await notify(
        ctx,
        "password-changed",
        user,
        enabled_keys=str(enabled_keys or ""),
        passkeys=str(passkeys or ""),
    )


def queue_reset_request(ctx: Context, email: str, redirect_to: str | None) -> None:
    """Queue a request to reset the password of `email`; the worker looks up the user."""
    queue_request(ctx, "reset-password", ctx.policy[PasswordResetPolicy].sender, email, redirect_to)
