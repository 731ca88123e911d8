"""Replay protection: store the ids of messages of identity providers that were used."""

from datetime import datetime

from sqlalchemy.exc import IntegrityError

from domain import tokens
from domain.context import Context
from models.saml_message import ADD_MESSAGE, MessageKind


async def is_first_use(
    ctx: Context, connection_id: str, kind: MessageKind, message_id: str, until: datetime
) -> bool:
    """Store the id of a message until `until`; return whether it was not stored before."""
    try:
        async with ctx.db.savepoint():
            await ctx.db.execute(
                ADD_MESSAGE,
                id=tokens.token(),
                connection_id=connection_id,
                kind=kind.value,
                digest=tokens.digest(message_id),
                expires_at=until,
                created_at=ctx.now,
                updated_at=ctx.now,
            )
    except IntegrityError:
        return False  # defence: SSO5 SSO15 replay
    return True
