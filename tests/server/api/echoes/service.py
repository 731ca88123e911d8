"""Health, an error page, and a crash."""

from typing import Any

from handlers.responses.reply import Page


async def check_health(ctx: Any) -> Any:
    return {"ok": True}


async def show_error(ctx: Any, error: str | None) -> Any:
    return Page("<p>Something went wrong</p>")


async def crash(ctx: Any) -> Any:
    raise RuntimeError("the password was hunter2")
