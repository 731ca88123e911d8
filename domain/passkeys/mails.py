"""The emails about passkeys."""

from domain.context import Context
from domain.mail.messages import Addressee, notify


async def passkey_added(ctx: Context, user: Addressee, name: str | None) -> None:
    """Notify the owner of a new passkey."""
    await _notify(ctx, "passkey-added", user, name)


async def passkey_removed(ctx: Context, user: Addressee, name: str | None) -> None:
    """Notify the owner that a passkey was removed."""
    await _notify(ctx, "passkey-removed", user, name)


async def _notify(ctx: Context, template: str, user: Addressee, name: str | None) -> None:
    await notify(ctx, template, user, passkey_name=name or "", network=ctx.client.network or "")
