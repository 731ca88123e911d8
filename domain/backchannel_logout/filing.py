"""Queue deliveries of logout tokens, in the transaction that ends the sessions.

Code that ends sessions calls one of these functions after it has deleted the sessions, so that a grant added meanwhile
is seen. When a session is deleted, its grants lose the id of the session, so they are found by the `sid`, the id under
which the client knows the session.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import orjson

from domain import tokens
from domain.backchannel_logout.policy import BackchannelLogoutPolicy
from domain.backchannel_logout.session_ids import sids_of
from domain.context import Context
from models.logout_delivery import (
    ADD_LOGOUT_DELIVERY,
    LIVE_LOGOUT_GRANTS_OF_USER,
    LOGOUT_GRANTS,
    LOGOUT_GRANTS_OF_USER,
)

LOGOUTS = "logout"
"""The kind of queued rows for which the outbox worker is woken."""

LIFETIME = timedelta(minutes=10)
"""How long a delivery is attempted."""

_FEW = 50
"""Up to this number, deliveries are stored together with the other statements of a transaction. More deliveries take a
separate round trip, which costs less than to combine them."""


async def file(ctx: Context, user_id: str | None, session_ids: Sequence[str]) -> None:
    """Queue a logout token for each of these ended sessions and each client with a logout URL and a grant from it.

    `user_id` is the user of the sessions; None if they belong to several users.
    """
    if not (session_ids and ctx.policy[BackchannelLogoutPolicy].enabled):
        return
    if user_id is None:
        grants = await ctx.db.execute(LOGOUT_GRANTS)
    else:
        grants = await ctx.db.execute(LOGOUT_GRANTS_OF_USER, user_id=user_id)
    ended = {
        client_id: {sid for one in session_ids for sid in sids_of(ctx.cipher, client_id, one)}
        for client_id in {grant.client_id for grant in grants}
    }
    await _add(ctx, (grant for grant in grants if grant.sid in ended[grant.client_id]))


async def file_all(ctx: Context, user_id: str) -> None:
    """Queue logout tokens for all sessions of a user, whose row is locked.

    Unlike the other functions, call it before the sessions are deleted together with their grants.
    """
    if ctx.policy[BackchannelLogoutPolicy].enabled:
        await _add(ctx, await ctx.db.execute(LIVE_LOGOUT_GRANTS_OF_USER, user_id=user_id))


def file_at_commit(ctx: Context, user_id: str, session_id: str) -> None:
    """Queue logout tokens, at the commit, for a session whose deletion is deferred to the commit."""
    if ctx.policy[BackchannelLogoutPolicy].enabled:
        ctx.before_commit[_file_each].append((user_id, session_id))


async def _file_each(ctx: Context, ended: Sequence[tuple[str, str]]) -> None:
    for user_id, session_id in ended:
        await file(ctx, user_id, [session_id])


async def _add(ctx: Context, grants: Iterable[Any]) -> None:
    wants, filed = dict[str, bool](), list[dict[str, Any]]()
    # A session of a client has as many grants as it has authorizations.
    sessions = {(grant.client_id, grant.user_id, grant.sid): grant for grant in grants}
    for grant in sessions.values():
        if grant.client_id not in wants:
            wants[grant.client_id] = bool(orjson.loads(grant.registration).get("backchannel_logout_uri"))
        if not wants[grant.client_id]:
            continue
        delivery = {
            "id": tokens.token(),
            "client_id": grant.client_id,
            "subject": grant.user_id,
            "sid": grant.sid,
            "attempts": 0,
            "next_attempt": ctx.now,
            "expires_at": ctx.now + LIFETIME,
            "created_at": ctx.now,
            "updated_at": ctx.now,
        }
        filed.append(delivery)
    if len(filed) > _FEW:
        await ctx.db.execute_many(ADD_LOGOUT_DELIVERY, filed)
    else:
        for delivery in filed:
            ctx.db.defer(ADD_LOGOUT_DELIVERY, **delivery)
    if filed:
        ctx.queued.add(LOGOUTS)
