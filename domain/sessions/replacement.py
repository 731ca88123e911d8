"""Replace the session of a browser in which its user signs in again."""

from collections.abc import Sequence

from domain.context import Caller, Context
from domain.sessions import events, sessions
from domain.sessions.sessions import OpenedSession
from domain.users import locking


async def presented(ctx: Context, user_id: str) -> Sequence[Caller]:
    """Return the active sessions of a user in the session cookies of the browser; none in which an administrator acts
    in the name of the user."""
    found = await sessions.presented(ctx.reads, ctx.cookies.values(ctx.policy.cookies.session_name.encode()))
    return [
        one
        for one in found
        if one.user.id == user_id and one.impersonated_by is None and one.session.is_active(ctx.now)
    ]


async def end_replaced(ctx: Context, opened: OpenedSession) -> None:
    """End the sessions of the browser that a new one of the same user replaces."""
    replaced = [one for one in await presented(ctx, opened.user.id) if one.token != opened.token]
    user = await locking.lock(ctx, opened.user.id) if replaced else None
    for one in replaced if user is not None else ():
        if await sessions.end(ctx, opened.user, one.session.id):
            events.session_replaced(ctx, opened.user.id, one.session.id)
