"""Replace the session of a browser in which its user signs in again."""

from collections.abc import Sequence

from domain.context import Caller, Context
from domain.sessions import events, sessions
from domain.sessions.sessions import OpenedSession
from domain.users import locking


async def presented(ctx: Context, user_id: str) -> Sequence[Caller]:
    """Return the active sessions of a user whose tokens the session cookies of the request have.

    Impersonation sessions are left out.
    """
    found = await sessions.presented(ctx.reads, ctx.cookies.values(ctx.policy.cookies.session_name.encode()))
    return [
        one
        for one in found
        if one.user.id == user_id and one.impersonated_by is None and one.session.is_active(ctx.now)
    ]


async def end_replaced(ctx: Context, opened: OpenedSession) -> None:
    """End the other sessions of the same user in this browser, after a new session was opened."""
    replaced = [one for one in await presented(ctx, opened.user.id) if one.token != opened.token]
    user = await locking.lock(ctx, opened.user.id) if replaced else None
    for one in replaced if user is not None else ():
        if await sessions.end(ctx, opened.user, one.session.id):
            events.session_replaced(ctx, opened.user.id, one.session.id)
