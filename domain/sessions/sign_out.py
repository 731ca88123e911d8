"""Sign out: end the sessions that a request presents."""

from domain.backchannel_logout import filing
from domain.context import AlreadyDone, Caller, Context
from domain.sessions import events, sessions
from domain.users import locking
from models.session import END_SESSION


async def end_presented(ctx: Context) -> None:
    """Revoke every session whose token the request has, as Bearer token or in cookies.

    A caller who is impersonating ends only the impersonation session. A session that has ended meanwhile is not
    recorded as a sign-out.
    """
    impersonates = ctx.caller is not None and ctx.caller.session.impersonated_by is not None
    beside = [] if impersonates else await _sessions_of_cookies(ctx)
    if beside:
        await _end_with_users_locked(ctx, beside if ctx.caller is None else [ctx.caller, *beside])
    elif ctx.caller is not None:
        locking.require_caller(ctx, AlreadyDone)
        # defence: V35 V38 sign-out
        ctx.db.defer(END_SESSION, id=ctx.caller.session.id, user_id=ctx.caller.user.id, now=ctx.now)
        filing.file_at_commit(ctx, ctx.caller.user.id, ctx.caller.session.id)
        events.sign_out(ctx, ctx.caller)


async def _sessions_of_cookies(ctx: Context) -> list[Caller]:
    """Return the sessions of the cookies, active or not; none if the request was authenticated by a cookie."""
    caller = ctx.caller
    if caller is not None and caller.by_cookie:
        return []
    callers = await sessions.presented(
        ctx.reads, ctx.cookies.values(ctx.policy.cookies.session_name.encode())
    )
    return [other for other in callers if caller is None or other.token != caller.token]


async def _end_with_users_locked(ctx: Context, presented: list[Caller]) -> None:
    """Delete sessions, locking their users in the order of their ids, so that requests do not deadlock."""
    for caller in sorted(presented, key=lambda caller: caller.user.id):
        if await locking.lock_with_session(ctx, caller.user.id, caller.session.id) is None:
            await sessions.discard(ctx, caller.session.id)
        elif await sessions.end(ctx, caller.user, caller.session.id):
            events.sign_out(ctx, caller)
