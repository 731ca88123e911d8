"""The emails of sign-in by mail."""

from collections.abc import Mapping
from datetime import timedelta

from domain.context import Context
from domain.mail.messages import Addressee, localization_of, notify, queue_mail


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


async def account_secured(ctx: Context, user: Addressee, removed: Mapping[str, int]) -> None:
    """Notify a user of what was removed from the account when its address was first proven: how many of what."""
    language = localization_of(ctx, user)
    shown = ", ".join(f"{language.gettext(what)}: {number}" for what, number in removed.items())
    await notify(ctx, "account-secured", user, removed=shown)
