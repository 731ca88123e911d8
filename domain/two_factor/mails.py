"""The emails of the second factor."""

from datetime import datetime

from domain.context import Context
from domain.mail.messages import Addressee, notify, queue_mail
from domain.two_factor.policy import TwoFactorPolicy


def otp(ctx: Context, user: Addressee, code: str) -> None:
    """Email a code of the second factor, without a link."""
    queue_mail(ctx, "otp", user, code=code, lives=ctx.policy[TwoFactorPolicy].otp_expires_in)


async def two_factor_changed(ctx: Context, user: Addressee, *, enabled: bool) -> None:
    """Notify the user that the second factor was enabled or disabled."""
    await notify(ctx, "two-factor-changed", user, switched="on" if enabled else "off")


async def second_factor_locked(ctx: Context, user: Addressee, until: datetime) -> None:
    """Notify the user that wrong codes have locked the second factor until that moment."""
    await notify(ctx, "second-factor-locked", user, until=until.isoformat())
