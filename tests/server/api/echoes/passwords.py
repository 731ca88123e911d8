"""A templated path."""

from typing import Any

from domain.passwords.errors import InvalidResetToken
from handlers.responses.reply import Redirect


async def check_reset_token(ctx: Any, token: str, callback_url: str | None) -> Any:
    if token.startswith("bad"):
        raise InvalidResetToken
    if callback_url is not None:
        return Redirect(callback_url)
    return {"token": token}
