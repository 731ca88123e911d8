"""Session management."""

from typing import Any


async def get_current(ctx: Any, disable_refresh: Any = None) -> Any:
    return None if ctx.name is None else {"caller": ctx.name, "disable_refresh": disable_refresh}


async def revoke(ctx: Any, body: dict[str, Any]) -> Any:
    return {"caller": ctx.name, "body": body}


async def revoke_all(ctx: Any) -> Any:
    return {"caller": ctx.name}
