"""Notify the owners of an organization before the certificates of its SAML connections expire."""

from datetime import datetime

from domain.context import Context
from domain.sso_connections import mails
from domain.sso_connections.certificates import WARNING, facts_of
from domain.sso_connections.owners import owners_of
from models.sso_connection import (
    CHANGE_CONNECTION,
    LOCK_CONNECTION_BY_ID,
    SAML_CONNECTIONS,
    ConnectionRow,
)


async def run(ctx: Context) -> int:
    """Notify the owners of each connection whose last certificate expires soon, once per certificate.

    Each connection is handled in its own transaction. Return the number of active connections whose last certificate
    expires soon or has expired.
    """
    ending = 0

    async def connections(own: Context) -> list[ConnectionRow]:
        return list(await own.db.execute(SAML_CONNECTIONS))

    for row in await ctx.in_new_transaction(connections):
        # A newer certificate beside an old one is no reason to act.
        end = max((one.not_after for one in facts_of(ctx, row)), default=None)
        if end is None or end > ctx.now + WARNING:
            continue
        ending += 1
        if ctx.now < end and end != row.certificate_end_notified:

            async def notify(own: Context, row: ConnectionRow = row, end: datetime = end) -> None:
                await _notify(own, row, end)

            await ctx.in_new_transaction(notify)
    return ending


async def _notify(ctx: Context, seen: ConnectionRow, end: datetime) -> None:
    row: ConnectionRow | None = (await ctx.db.execute(LOCK_CONNECTION_BY_ID, connection_id=seen.id)).first()
    if row is None or (row.config, row.certificate_end_notified) != (
        seen.config,
        seen.certificate_end_notified,
    ):
        return  # It was changed, or another instance has notified them.
    await ctx.db.execute(CHANGE_CONNECTION, connection_id=row.id, certificate_end_notified=end)
    found = await owners_of(ctx, row)
    for owner in () if found is None else found.users:
        await mails.certificate_ends(ctx, owner, row, end)
