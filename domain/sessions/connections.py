"""End the sessions that were opened through a connection to an identity provider."""

from collections import defaultdict

from sqlalchemy import delete, select
from sqlmodel import col

from domain.backchannel_logout import filing
from domain.context import Context
from domain.sessions import events
from domain.sessions.events import EndReason
from models import Session
from models.sso_session import SsoSession
from models.statements import is_, table_of

_END = (
    delete(table_of(Session))
    .where(
        col(Session.id).in_(
            select(col(SsoSession.session_id)).where(is_(SsoSession.connection_id, "connection_id"))
        )
    )
    .returning(col(Session.id), col(Session.user_id), col(Session.expires_at))
)


async def end_sessions(ctx: Context, connection_id: str) -> int:
    """End every session that a locked connection opened; return how many of these sessions were active."""
    ended: dict[str, list[str]] = defaultdict(list)
    for row in await ctx.db.execute(_END, connection_id=connection_id):  # defence: SSO10 sessions
        if row.expires_at > ctx.now:
            ended[row.user_id].append(row.id)
    for user_id, session_ids in ended.items():
        await filing.file(ctx, user_id, session_ids)
        events.publish_ended(ctx, EndReason.SSO_CONNECTION_ENDED, user_id, session_ids)
    return sum(map(len, ended.values()))
