"""The emails of magic links."""

from datetime import timedelta

from domain.context import Context
from domain.mail.messages import Addressee, queue_mail


def magic_link(ctx: Context, user: Addressee, email: str, link: str, lives: timedelta) -> None:
    """Email the link that signs in."""
    queue_mail(ctx, "magic-link", user, to=email, link=link, lives=lives)
