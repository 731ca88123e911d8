"""OAuth clients from the configuration: when the service starts, the table is changed to match it."""

from collections.abc import Mapping
from typing import Any

from domain import tokens
from domain.admin_oauth_clients import operator
from domain.context import Context
from domain.oauth_clients import clients, events, metadata
from domain.oauth_clients.policy import ClientPolicy, ConfiguredClient
from models.lease import Lease
from models.oauth_client import CLIENTS_OF_SOURCE, LOCK_CLIENT, ClientRow, ClientSource
from models.statements import upsert

_LEASE = "oauth_clients"
"""The lease whose row is locked before the configuration is applied."""


async def apply(ctx: Context) -> None:
    """Add, change and delete the rows of configured clients, so that they are as configured.

    A secret that was replaced is accepted for 24 hours. The grants of clients that are no longer configured end. A
    configured client replaces another one with the same id.
    """
    configured = ctx.policy[ClientPolicy].configured
    wanted = {
        id_: metadata.complete(one.metadata, ctx.policy[ClientPolicy]) for id_, one in configured.items()
    }
    known = await _known(ctx)
    # Otherwise every start would need a database that can be written.
    if _are_applied(known, wanted, configured):
        return
    await _lock(ctx)
    known = await _known(ctx)
    for client_id, one in configured.items():
        row = (await ctx.db.execute(LOCK_CLIENT, client_id=client_id)).first()
        if row is not None and row.source != ClientSource.CONFIG:
            await operator.delete_row(ctx, row)
            row = None
        if row is None:
            row, _ = await clients.add(
                ctx, wanted[client_id], ClientSource.CONFIG, client_id=client_id, own_secret=one.secret
            )
            events.created(ctx, row)
        else:
            await _change(ctx, row, wanted[client_id], one)
    for client_id in known.keys() - configured.keys():
        row = (await ctx.db.execute(LOCK_CLIENT, client_id=client_id)).first()
        if row is not None:
            await operator.delete_row(ctx, row)


async def _lock(ctx: Context) -> None:
    """Lock the configuration, so that instances that start at once apply it one after the other."""
    statement = upsert(ctx.db.dialect, Lease).values(name=_LEASE, holder=_LEASE, until=ctx.now)
    await ctx.db.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"until": statement.excluded.until})
    )


async def _change(ctx: Context, row: ClientRow, wanted: Mapping[str, Any], one: ConfiguredClient) -> None:
    """Make a locked client as configured."""
    if one.secret is None or row.secret is None:
        digest = None if one.secret is None else tokens.digest(one.secret)
        columns: dict[str, Any] = {} if digest == row.secret else {"secret": digest, "previous_secret": None}
    else:
        columns = {}
        if not _has_secret(row, one):
            row = await operator.replace_secret(ctx, row, one.secret)
    if columns or row.metadata != wanted:
        await clients.replace(ctx, row, wanted, **columns)
        events.updated(ctx, row, (name for name in wanted if wanted[name] != row.metadata.get(name)))


def _are_applied(
    known: Mapping[str, ClientRow],
    wanted: Mapping[str, Mapping[str, Any]],
    configured: Mapping[str, ConfiguredClient],
) -> bool:
    return known.keys() == configured.keys() and all(
        row.metadata == wanted[id_] and _has_secret(row, configured[id_]) for id_, row in known.items()
    )


async def _known(ctx: Context) -> dict[str, ClientRow]:
    rows = await ctx.db.execute(CLIENTS_OF_SOURCE, source=ClientSource.CONFIG)
    return {row.client_id: row for row in rows}


def _has_secret(row: ClientRow, one: ConfiguredClient) -> bool:
    return row.secret == (None if one.secret is None else tokens.digest(one.secret))
