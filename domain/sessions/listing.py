"""The active sessions of a user, as lists show them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from operator import attrgetter

from domain.context import Caller, Context
from domain.sessions import sessions
from domain.sessions.policy import SessionPolicy
from models.session import NEWEST_SESSIONS, SESSIONS_OF_USER, SessionRow

_SLICE = 50
"""How many sessions of a list are prepared before other requests get their turn: decrypting a token takes some 20
µs."""


async def list_active(ctx: Context) -> AsyncIterator[tuple[SessionRow, str]]:
    """Yield the caller's active sessions, newest first, each with its token.

    A revocation handle takes the place of a token that may not be listed. A long list does not block the event loop.
    """
    caller = ctx.signed_in
    for number, row in enumerate(await of_user(ctx, caller.user.id), 1):
        yield row, _shown_token(ctx, caller, row)
        if number % _SLICE == 0:
            await asyncio.sleep(0)


async def of_user(ctx: Context, user_id: str) -> list[SessionRow]:
    """Return the active sessions of a user, newest first."""
    rows = await ctx.reads.all(SESSIONS_OF_USER, user_id)
    live = [row for row in rows if row.is_active(ctx.now)]  # defence: V37 active-only
    return sorted(live, key=attrgetter("created_at", "id"), reverse=True)


async def newest_of_user(ctx: Context, user_id: str, *, limit: int) -> Sequence[SessionRow]:
    """Return at most `limit` active sessions of a user, newest first."""
    rows: Sequence[SessionRow] = await ctx.db.execute(
        NEWEST_SESSIONS, user_id=user_id, now=ctx.now, number=limit
    )
    return rows


def _shown_token(ctx: Context, caller: Caller, row: SessionRow) -> str:
    if row.id == caller.session.id:
        return caller.token
    # Tokens of the user's other sessions would outlive the impersonation.
    if caller.session.impersonated_by is not None:  # defence: ADM9 handles
        return sessions.HANDLE_PREFIX + row.id
    copy = row.token_copy if ctx.policy[SessionPolicy].list_tokens else None  # defence: V40 list-tokens
    token = ctx.cipher.decrypt(sessions.COPY_PURPOSE, copy) if copy is not None else None
    return token or sessions.HANDLE_PREFIX + row.id
