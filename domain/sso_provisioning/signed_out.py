"""Store logout messages of identity providers, so that they also end sign-ins that wait for a second factor."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from sqlalchemy import Insert

from domain import tokens
from domain.context import Context
from domain.sessions.sso_origin import SsoOrigin
from models.saml_message import FIND_SIGNED_OUT, MessageKind, SamlMessage
from models.statements import upsert


async def store(
    ctx: Context, connection_id: str, subject: bytes | None, indexes: Sequence[bytes], until: datetime
) -> None:
    """Store the digests of the subject, of the sessions, or of both, that a valid logout message names.

    They are stored until `until`, when every sign-in that waits now has expired.
    """
    for index in indexes or (None,):
        await ctx.db.execute(
            _storing(ctx.db.dialect),
            id=tokens.token(),
            connection_id=connection_id,
            kind=MessageKind.SIGNED_OUT.value,
            digest=_digest(subject, index),
            expires_at=until,
            created_at=ctx.now,
            updated_at=ctx.now,
        )


async def includes(ctx: Context, origin: SsoOrigin, since: datetime) -> bool:
    """Return whether a logout message since `since` names the user or the session of a sign-in."""
    index = origin.session_index
    found = await ctx.db.execute(
        FIND_SIGNED_OUT,
        connection_id=origin.connection_id,
        subject=_digest(origin.subject, None),
        # Without a name of the session at the provider, only the subject counts.
        session=_digest(origin.subject if index is None else None, index),
        both=_digest(origin.subject, index),
        since=since,
    )
    return bool(found)


def _digest(subject: bytes | None, index: bytes | None) -> bytes:
    return tokens.digest(" ".join("" if part is None else part.hex() for part in (subject, index)))


@cache
def _storing(dialect: str) -> Insert:
    """Return the statement that stores a name, or the time at which it was named again."""
    adding = upsert(dialect, SamlMessage)
    storing: Insert = adding.on_conflict_do_update(
        index_elements=["connection_id", "kind", "digest"],
        set_={name: adding.excluded[name] for name in ("expires_at", "created_at", "updated_at")},
    )
    return storing
