"""Secrets that a page shows only once, encrypted for a cookie of the browser.

Backup codes and API keys are stored only as digests. With the cookie, the page shows them again when it is reloaded,
until the user goes on or `LIFE` has passed.
"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from domain.context import Context

LIFE = timedelta(minutes=5)
_PURPOSE = "pages.shown_once"


def seal(ctx: Context, page: str, content: Mapping[str, Any]) -> str:
    """Return the content of `page`, encrypted so that `unseal` accepts it only in the caller's session, for `LIFE`."""
    claims = {
        "page": page,
        "session": ctx.signed_in.session.id,
        "until": (ctx.now + LIFE).timestamp(),
        "content": content,
    }
    return ctx.cipher.encrypt(_PURPOSE, json.dumps(claims, ensure_ascii=False)).decode()


def unseal(ctx: Context, page: str, sealed: str) -> Mapping[str, Any] | None:
    """Return the content encrypted by `seal`; None if it was for another page or session, expired or changed."""
    text = ctx.cipher.decrypt(_PURPOSE, sealed.encode())
    if text is None:
        return None
    claims = json.loads(text)
    if claims["session"] != ctx.signed_in.session.id:  # defence: H7 shown-session
        return None
    if ctx.now.timestamp() >= claims["until"]:  # defence: H7 shown-life
        return None
    if claims["page"] != page:
        return None
    content: Mapping[str, Any] = claims["content"]
    return content
