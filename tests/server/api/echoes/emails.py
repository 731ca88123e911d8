"""Optional operations."""

from typing import Any


async def verify(ctx: Any, token: str, callback_url: str | None, limit: int | None) -> Any:
    return {"caller": ctx.name, "token": token, "callback_url": callback_url, "limit": limit}
