"""The emails of administration."""

from domain.context import Context
from domain.mail.messages import Recipient, notify
from domain.mail.templates import MailTemplate

ROLE_CHANGED = MailTemplate("role-changed", "a notice: the user became an administrator")
IMPERSONATED = MailTemplate("impersonated", "a notice: an administrator opened a session in the user's name")


async def role_changed(ctx: Context, user: Recipient) -> None:
    """Notify a user that they now have the rights of an administrator."""
    await notify(ctx, ROLE_CHANGED, user)


async def impersonated(ctx: Context, user: Recipient) -> None:
    """Notify a user that an administrator has opened a session in their name."""
    await notify(ctx, IMPERSONATED, user)
