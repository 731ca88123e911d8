"""The emails of email codes."""

from datetime import timedelta

from domain.context import Context
from domain.mail.messages import Addressee, queue_mail


def code(
    ctx: Context,
    template: str,
    user: Addressee,
    email: str,
    digits: str,
    lives: timedelta,
    sender: str | None,
) -> None:
    """Email a code."""
    queue_mail(ctx, template, user, to=email, code=digits, lives=lives, sender=sender)
