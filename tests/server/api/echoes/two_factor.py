"""Pending operations."""

from typing import Any


async def verify_totp(ctx: Any, body: dict[str, Any]) -> Any:
    return {"caller": ctx.name, "challenge": ctx.challenge, "body": body}
