"""The emails about API keys."""

from domain.context import Context
from domain.mail.messages import Addressee, notify
from models.api_key import ApiKeyRow


async def key_created(ctx: Context, user: Addressee, row: ApiKeyRow) -> None:
    """Notify the owner of a new key."""
    await notify(
        ctx,
        "api-key-created",
        user,
        key_name=row.name or "",
        key_start=row.start or "",
        network=ctx.client.network or "",
    )
