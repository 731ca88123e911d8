"""Sessions: create, find and revoke them."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, select
from sqlmodel import col

from domain import tokens
from domain.authentication_methods import amr_of
from domain.backchannel_logout import filing
from domain.context import Caller, Context
from domain.ports import Reads
from domain.sessions import events, expiry, sso_origin
from domain.sessions.policy import SessionPolicy
from domain.sessions.sso_origin import SsoOrigin
from domain.users import locking
from models import Session
from models.session import (
    ACTIVE_IN_SESSION,
    END_SESSION,
    OVER_LIMIT,
    SESSION_BY_DIGEST,
    SessionRow,
)
from models.statements import insert
from models.user import UserRow

HANDLE_PREFIX = "rvk_"
IMPERSONATION = "impersonation"
"""The method of a session that an administrator has opened in the name of a user."""

COPY_PURPOSE = "session.token_copy"
"""The purpose under which the copy of a token is encrypted."""

_ADD = insert(Session)
_ADD_AND_COUNT = _ADD.returning(OVER_LIMIT)

_MOST_EVICTED = 100
"""How many sessions one new session may revoke: a user with thousands too many reaches the limit over several
sign-ins."""


class Active(NamedTuple):
    """The organization and team that are active in a session."""

    organization_id: str | None = None
    team_id: str | None = None


NOTHING_ACTIVE = Active()


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new session, its user, and its token, which is not stored in plain text."""

    token: str = field(repr=False)
    session: SessionRow
    user: UserRow
    device: str | None = None
    """The token of a newly created or rotated trusted device."""
    forget_device: bool = False
    """Whether the cookie of the trusted device is invalid."""


async def create(
    ctx: Context,
    user: UserRow,
    *,
    remembered: bool,
    method: str,
    amr: str | None = None,
    under_session_limit: bool = False,
    active: Active = NOTHING_ACTIVE,
    origin: SsoOrigin | None = None,
) -> OpenedSession:
    """Create a session with a new token, and revoke the oldest ones above the limit of sessions.

    The caller has checked everything that a sign-in must pass. `amr` are the authentication methods (RFC 8176), by
    default those of `method`. With `under_session_limit` the caller has checked the limit, and the insertion is
    deferred to the commit. `origin` describes a sign-in through the connection of an organization.
    """
    token = tokens.token()
    rules = ctx.policy[SessionPolicy]
    expires_at = expiry.end_of(rules, created_at=ctx.now, now=ctx.now, remembered=remembered)
    if origin is not None and origin.not_after is not None:
        # The provider has set an end, so the session is not extended either.
        # defence: SSO6 session-end
        expires_at, remembered = min(expires_at, origin.not_after), False
    if origin is not None and origin.organization_id is not None:
        active = Active(origin.organization_id)
    session = _new(
        ctx,
        user,
        remembered=remembered,
        method=method,
        amr=amr_of(method) if amr is None else amr,
        expires_at=expires_at,
        # The operator can do without copies; then nothing in the database, even decrypted, is a session.
        # defence: V40 token-copy
        token_copy=ctx.cipher.encrypt(COPY_PURPOSE, token) if rules.list_tokens else None,
    )._replace(active_organization_id=active.organization_id, active_team_id=active.team_id)
    added = {**session._asdict(), "token_digest": tokens.digest(token)}  # defence: V87 token-digest
    events.session_opened(ctx, session)
    if under_session_limit and origin is None:
        ctx.db.defer(_ADD, **added)
        return OpenedSession(token, session, user)
    besides = max(rules.max_per_user - 1, 0)
    over_limit = await ctx.db.execute(_ADD_AND_COUNT, **added, whose=user.id, besides=besides)
    if origin is not None:
        await sso_origin.keep(ctx, user, session.id, origin)
    if over_limit.scalar() and rules.max_per_user:
        await _evict_oldest(ctx, session)
    return OpenedSession(token, session, user)


async def active_of_caller(ctx: Context) -> Active:
    """Return the active organization and team of the caller's session, read again from the locked row.

    They are for the session that replaces it.
    """
    session = ctx.signed_in.session
    if session.active_organization_id is None:
        return NOTHING_ACTIVE
    row = (await ctx.db.execute(ACTIVE_IN_SESSION, id=session.id)).first()
    return NOTHING_ACTIVE if row is None else Active(*row)


async def impersonate(ctx: Context, user: UserRow, expires_at: datetime) -> OpenedSession:
    """Create a session in which the caller, an administrator, acts in the name of a user.

    The caller's session is locked. The new session does not count towards the limit of sessions. Lists that other
    sessions request never contain its token.
    """
    token, caller = tokens.token(), ctx.signed_in
    # A session in the name of a user is short and never extended.
    # defence: ADM6 never-remembered
    session = _new(ctx, user, remembered=False, method=IMPERSONATION, expires_at=expires_at)
    session = session._replace(impersonated_by=caller.user.id)
    added = {**session._asdict(), "token_digest": tokens.digest(token)}
    await ctx.db.execute(_ADD, **added, impersonator_session_id=caller.session.id)
    events.session_opened(ctx, session)
    return OpenedSession(token, session, user)


def _new(
    ctx: Context,
    user: UserRow,
    *,
    remembered: bool,
    method: str,
    expires_at: datetime,
    amr: str = "",
    token_copy: bytes | None = None,
) -> SessionRow:
    return SessionRow(
        id=tokens.token(),
        user_id=user.id,
        remembered=remembered,
        expires_at=expires_at,
        ip_address=ctx.client.address,
        user_agent=ctx.client.user_agent,
        impersonated_by=None,
        active_organization_id=None,
        method=method,
        amr=amr,
        created_at=ctx.now,
        updated_at=ctx.now,
        token_copy=token_copy,
    )


async def _evict_oldest(ctx: Context, newest: SessionRow) -> None:
    """Revoke the oldest active sessions above the limit, for a user whose row is locked.

    The caller's own session is kept. Impersonation sessions are kept, and do not count.
    """
    live = (
        col(Session.user_id) == newest.user_id,
        col(Session.expires_at) > ctx.now,
        col(Session.impersonated_by).is_(None),
    )
    number = (await ctx.db.execute(select(func.count()).where(*live))).scalar()
    excess = min(number - ctx.policy[SessionPolicy].max_per_user, _MOST_EVICTED)
    if excess <= 0:
        return
    kept = [newest.id] if ctx.caller is None else [newest.id, ctx.caller.session.id]
    oldest = select(col(Session.id)).where(*live, col(Session.id).not_in(kept))
    oldest = oldest.order_by(col(Session.created_at), col(Session.id)).limit(excess)
    ended = delete(Session).where(col(Session.id).in_(oldest.scalar_subquery())).returning(col(Session.id))
    evicted = (await ctx.db.execute(ended)).scalars()
    await filing.file(ctx, newest.user_id, evicted)
    events.sessions_evicted(ctx, newest.user_id, evicted)


def stored(reads: Reads, token: str) -> Awaitable[tuple[SessionRow, UserRow] | None]:
    """Return the session of a well-formed token and its user, even if the session has expired; None if unknown."""
    return reads.one(SESSION_BY_DIGEST, tokens.digest(token))


async def find(reads: Reads, token: str) -> tuple[SessionRow, UserRow] | None:
    """Return the session of a token and its user, even if it has expired; None if the token is unknown or malformed."""
    return await stored(reads, token) if tokens.is_token(token) else None


async def presented(reads: Reads, values: Sequence[str]) -> list[Caller]:
    """Return the sessions, even expired ones, whose tokens are the values of a cookie. Other values are ignored."""
    sent = tokens.presented(values)
    rows = await asyncio.gather(*(stored(reads, token) for token in sent))
    return [
        Caller(token, *row, by_cookie=True) for token, row in zip(sent, rows, strict=True) if row is not None
    ]


async def revoke(ctx: Context, token: str) -> bool:
    """Revoke the caller's session with this token or revocation handle; return whether it was the current one.

    An unknown value, or one of another user, has no effect and returns False.
    """
    caller = ctx.signed_in
    session_id = await _own_session(ctx, caller, token)
    if session_id is None:
        return False
    await locking.lock_caller(ctx)
    if await end(ctx, caller.user, session_id):  # defence: V35 end-session
        events.session_revoked(ctx, caller.user.id, session_id)
    return session_id == caller.session.id


async def _own_session(ctx: Context, caller: Caller, token: str) -> str | None:
    if token.startswith(HANDLE_PREFIX):
        session_id = token.removeprefix(HANDLE_PREFIX)
        return session_id if tokens.is_token(session_id) else None
    row = await find(ctx.reads, token)
    # A token of another user's session has no effect, and looks like an unknown one.
    # defence: V22 token-owner
    return row[0].id if row is not None and row[0].user_id == caller.user.id else None


async def revoke_all(ctx: Context) -> int:
    """Revoke every session of the caller, the current one included; return how many were active."""
    user = await locking.lock_caller(ctx)
    ended = await end_all(ctx, user)  # defence: V35 V37 end-all
    events.sessions_revoked_all(ctx, user.id, ended)
    return len(ended)


async def end(ctx: Context, user: UserRow, session_id: str) -> bool:
    """Revoke one session of a user whose row is locked; return whether it was active."""
    if not await ctx.db.execute(END_SESSION, id=session_id, user_id=user.id, now=ctx.now):
        return False
    await filing.file(ctx, user.id, [session_id])
    return True


async def end_all(ctx: Context, user: UserRow) -> Sequence[str]:
    """Revoke every session of a user whose row is locked; return the ids of those that were active."""
    return await _delete(ctx, col(Session.user_id) == user.id, of=user.id)  # defence: V22 all-of-user


async def end_some(ctx: Context, user: UserRow, condition: ColumnElement[bool]) -> Sequence[str]:
    """Revoke the sessions of a locked user that meet a condition; return the ids of those that were active."""
    return await _delete(ctx, col(Session.user_id) == user.id, condition, of=user.id)


async def revoke_all_users(ctx: Context) -> Sequence[str]:
    """Revoke every session of every user; return the ids of those that were active."""
    return await _delete(ctx, of=None)


async def revoke_others(ctx: Context) -> int:
    """Revoke every session of the caller but the current one; return how many were active."""
    caller = ctx.signed_in
    await locking.lock_caller(ctx)
    user_id = caller.user.id
    # defence: V22 V35 others-of-caller
    ended = await _delete(
        ctx, col(Session.user_id) == user_id, col(Session.id) != caller.session.id, of=user_id
    )
    events.sessions_revoked_others(ctx, ended)
    return len(ended)


async def discard(ctx: Context, session_id: str) -> None:
    """Delete a session that has expired or whose user is banned, without an audit record or a lock."""
    await ctx.db.execute(delete(Session).where(col(Session.id) == session_id))


async def _delete(ctx: Context, *conditions: ColumnElement[bool], of: str | None) -> Sequence[str]:
    """Delete sessions of a user, or of all (None); return the ids of those that were active."""
    # defence: V35 delete-statement
    statement = delete(Session).where(*conditions).returning(col(Session.id), col(Session.expires_at))
    # Expired sessions are deleted too, but only active ones are counted.
    ended = [row.id for row in await ctx.db.execute(statement) if row.expires_at > ctx.now]
    await filing.file(ctx, of, ended)
    return ended
