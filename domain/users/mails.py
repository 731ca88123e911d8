"""The emails about users."""

from collections.abc import Mapping

from domain.context import Context
from domain.mail.messages import Addressee, localization_of, notify


async def account_secured(ctx: Context, user: Addressee, removed: Mapping[str, int]) -> None:
    """Notify a user of what was removed from the account when its address was first proven: how many of what."""
    language = localization_of(ctx, user)
    shown = ", ".join(f"{language.gettext(what)}: {number}" for what, number in removed.items())
    await notify(ctx, "account-secured", user, removed=shown)
