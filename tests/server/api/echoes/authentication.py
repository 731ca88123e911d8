"""Sign-in and sign-out."""

from typing import Any

from handlers.responses.reply import Reply


async def sign_in_email(ctx: Any, body: dict[str, Any]) -> Any:
    return {"body": body}


async def sign_out(ctx: Any) -> Any:
    return Reply({"caller": ctx.name}, ctx.headers)
