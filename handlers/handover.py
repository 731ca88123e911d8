"""The answers that hand a new session over or take one away: body, cookie and header together (interface 5.4)."""

from typing import TypeVar

from domain.context import Context
from domain.sessions import OpenedSession
from handlers import cookies
from handlers.reply import Reply

Shape = TypeVar("Shape")


def hand_over(ctx: Context, opened: OpenedSession, body: Shape) -> Reply[Shape]:
    """Answer with `body`, the session cookie, and `set-auth-token` for the official client's bearer mode."""
    life = opened.session.expires_at - ctx.now
    max_age = int(life.total_seconds()) if opened.session.remembered else None
    cookie = cookies.set_session(ctx.policy.cookies, opened.token, max_age=max_age)
    return Reply(body, (cookie, (b"set-auth-token", opened.token.encode())))


def take_away(ctx: Context, body: Shape) -> Reply[Shape]:
    """Answer with `body` and clear the session cookie."""
    return Reply(body, (cookies.clear_session(ctx.policy.cookies),))
