"""The emails of administration."""

from domain.context import Context
from domain.mail.messages import Addressee, notify


async def role_changed(ctx: Context, user: Addressee) -> None:
    """Notify a user that they now have powers of an administrator."""
    await notify(ctx, "role-changed", user)


async def impersonated(ctx: Context, user: Addressee) -> None:
    """Notify a user that an administrator has opened a session in their name."""
    await notify(ctx, "impersonated", user)
