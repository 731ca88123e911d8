"""The emails of the second factor."""

from datetime import UTC, datetime

from domain.context import Context
from domain.mail.formats import TEXT, TIME
from domain.mail.messages import Recipient, notify, queue_mail
from domain.mail.templates import CODE, MailTemplate, Variable
from domain.two_factor.policy import TwoFactorPolicy

OTP = MailTemplate("otp", "the second factor is a code by email", (CODE,))
TWO_FACTOR_CHANGED = MailTemplate(
    "two-factor-changed",
    "a notice: the second factor was turned on or off",
    (Variable("switched", TEXT, "`on` or `off`", "on"),),
    not_me_link=True,
)
SECOND_FACTOR_LOCKED = MailTemplate(
    "second-factor-locked",
    "a notice: too many wrong codes locked the second factor",
    (Variable("until", TIME, "the end of the lock", datetime(2026, 11, 25, 10, 34, tzinfo=UTC)),),
)


def otp(ctx: Context, user: Recipient, code: str) -> None:
    """Email a code of the second factor, without a link."""
    queue_mail(ctx, OTP, user, code=code, expires_in=ctx.policy[TwoFactorPolicy].otp_expires_in)


async def two_factor_changed(ctx: Context, user: Recipient, *, enabled: bool) -> None:
    """Notify the user that the second factor was enabled or disabled."""
    await notify(ctx, TWO_FACTOR_CHANGED, user, switched="on" if enabled else "off")


async def second_factor_locked(ctx: Context, user: Recipient, until: datetime) -> None:
    """Notify the user that wrong codes have locked the second factor until this time."""
    await notify(ctx, SECOND_FACTOR_LOCKED, user, until=until)
