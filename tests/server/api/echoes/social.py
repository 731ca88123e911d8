"""The one operation that takes a form."""

from typing import Any

from handlers.responses.reply import Redirect


async def relay_callback(ctx: Any, provider: str, body: dict[str, Any]) -> Any:
    return Redirect(f"/callback/{provider}?state={body['state']}")
