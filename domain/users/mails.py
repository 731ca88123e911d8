"""The emails about users."""

from collections.abc import Mapping

from domain.context import Context
from domain.mail.messages import Addressee, localization_of, notify


async def account_secured(ctx: Context, user: Addressee, removed: Mapping[str, int]) -> None:
    """Notify a user of the access removed when their mailbox was first proven; `removed` has counts by English name."""
    language = localization_of(ctx, user)
    shown = ", ".join(f"{language.gettext(label)}: {number}" for label, number in removed.items())
    # The mailbox has just been proven, so the limit for unverified addresses does not apply.
    await notify(ctx, "account-secured", user, is_verified=True, removed=shown)
