"""The emails of sign-in by mail."""

from datetime import timedelta

from domain.context import Context
from domain.mail.messages import Addressee, queue_mail


def magic_link(ctx: Context, user: Addressee, email: str, link: str, lives: timedelta) -> None:
    """Email the link that signs in."""
    queue_mail(ctx, "magic-link", user, to=email, link=link, lives=lives)


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
