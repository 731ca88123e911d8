"""End sessions of users who must sign in through a connection, but signed in differently before."""

from collections.abc import Sequence

from sqlalchemy import exists, select
from sqlmodel import col

from domain.context import Context
from domain.identifiers import domain_of
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.sessions.events import EndReason
from domain.sso_connections import domains, events
from domain.sso_enforcement import enforcement
from models import Session
from models.sso_connection import ConnectionRow, Requirement
from models.sso_domain import SsoDomain
from models.sso_session import SsoSession
from models.statements import is_
from models.user import SELECT_USER, User, UserRow

_LOCK_USERS = (
    SELECT_USER.where(
        exists().where(
            is_(SsoDomain.connection_id, "connection_id"),
            col(SsoDomain.verified_at).is_not(None),
            col(User.email).endswith("@" + col(SsoDomain.domain)),
        ),
    )
    .order_by(col(User.id))
    .with_for_update(key_share=True, of=User)
)


async def lock_users(ctx: Context, row: ConnectionRow) -> Sequence[UserRow]:
    """Lock and return all users whose addresses are in the verified domains of a connection.

    Call it before the connection is locked, in the lock order of sign-ins: a concurrent sign-in has then opened its
    session already, or sees that the connection is required. The query reads the whole table of users.
    """
    users: Sequence[UserRow] = await ctx.db.execute(_LOCK_USERS, connection_id=row.id)
    return users


async def end(ctx: Context, row: ConnectionRow, users: Sequence[UserRow]) -> None:
    """End the sessions of those locked users who must sign in through a connection.

    Sessions that the connection opened, the caller's own session and impersonation sessions stay. Does nothing if the
    connection is not active.
    """
    if not row.is_active:
        return  # Its users sign in as others do.
    required = {one.domain for one in await domains.of(ctx, row) if one.required}
    requirement = Requirement(row.id, row.provider_id, row.organization_id)
    number = 0
    for user in users:
        if domain_of(user.email) in required:  # defence: SSO11 ended-domain
            number += await _end_of(ctx, user, requirement)
    if number:
        events.other_sessions_ended(ctx, row, number)


async def _end_of(ctx: Context, user: UserRow, requirement: Requirement) -> int:
    if await enforcement.is_exempt(ctx, user, requirement):  # defence: SSO11 ended-exempt
        return 0
    own = select(col(SsoSession.session_id)).where(col(SsoSession.connection_id) == requirement.connection_id)
    another_way = col(Session.id).not_in(own) & col(Session.impersonated_by).is_(None)
    if ctx.caller is not None:
        another_way &= col(Session.id) != ctx.caller.session.id
    ended = await sessions.end_some(ctx, user, another_way)
    if ended:
        session_events.publish_ended(ctx, EndReason.SSO_REQUIRED, user.id, ended)
    return len(ended)
