"""The emails about users."""

from collections.abc import Mapping

from domain.context import Context
from domain.mail.formats import TEXT
from domain.mail.messages import Recipient, localization_of, notify
from domain.mail.templates import MailTemplate, Variable

ACCOUNT_SECURED = MailTemplate(
    "account-secured",
    "a notice: a sign-in by email or a password reset proved the address for the first time, and ways into the account "
    "were removed",
    (Variable("removed", TEXT, "what was removed", "sessions: 2, API keys: 1"),),
    not_me_link=True,
)


async def account_secured(ctx: Context, user: Recipient, removed: Mapping[str, int]) -> None:
    """Notify a user of access that was removed when their mailbox was first proven; `removed` are numbers by name."""
    language = localization_of(ctx, user)
    shown = ", ".join(f"{language.gettext(label)}: {number}" for label, number in removed.items())
    # The mailbox has just been proven, so the limit for unverified addresses does not apply.
    await notify(ctx, ACCOUNT_SECURED, user, is_verified=True, removed=shown)
