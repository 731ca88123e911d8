"""The emails about passkeys."""

from domain.context import Context
from domain.mail.formats import NAME
from domain.mail.messages import Recipient, notify
from domain.mail.templates import NETWORK, MailTemplate, Variable

_VARIABLES = (Variable("passkey_name", NAME, "the name of a passkey; may be empty", "iPhone"), NETWORK)
PASSKEY_ADDED = MailTemplate("passkey-added", "a notice: a passkey was added", _VARIABLES)
PASSKEY_REMOVED = MailTemplate("passkey-removed", "a notice: a passkey was removed", _VARIABLES)


async def passkey_added(ctx: Context, user: Recipient, name: str | None) -> None:
    """Queue a notice to a user that a passkey was added; `name` is the name of the passkey."""
    await notify(ctx, PASSKEY_ADDED, user, passkey_name=name, network=ctx.client.network)


async def passkey_removed(ctx: Context, user: Recipient, name: str | None) -> None:
    """Queue a notice to a user that a passkey was removed; `name` is the name of the passkey."""
    await notify(ctx, PASSKEY_REMOVED, user, passkey_name=name, network=ctx.client.network)
