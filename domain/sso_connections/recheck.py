"""Look the records of verified domains up again: a domain whose record stays away is no longer verified."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from domain.context import Context
from domain.sso.policy import SsoPolicy
from domain.sso_connections import domains, events, mails
from domain.sso_connections.owners import owners_of
from models.sso_connection import FIND_CONNECTION_BY_ID, LOCK_CONNECTION_BY_ID, ConnectionRow
from models.sso_domain import CHANGE_DOMAIN, DUE_DOMAINS, FIND_DOMAIN, DomainRow


class Due(NamedTuple):
    """A domain whose record is to be looked up, and its connection."""

    connection: ConnectionRow
    domain: DomainRow


async def run(ctx: Context) -> None:
    """Look up the records that are due, one after the other; each in transactions of its own."""
    for due in await ctx.in_new_transaction(_due):
        lookup = await domains.look_up(ctx, due.connection, [due.domain])
        is_there = None if lookup.failed else due.domain.domain in lookup.found

        async def store(own: Context, due: Due = due, is_there: bool | None = is_there) -> None:
            await _store(own, due, is_there)

        await ctx.in_new_transaction(store)


async def _due(ctx: Context) -> Sequence[Due]:
    until = ctx.now - ctx.policy[SsoPolicy].domain_recheck
    found: list[Due] = []
    for domain in await ctx.db.execute(DUE_DOMAINS, until=until):
        rows = await ctx.db.execute(FIND_CONNECTION_BY_ID, connection_id=domain.connection_id)
        found += [Due(row, domain) for row in rows]
    return found


async def _store(ctx: Context, due: Due, is_there: bool | None) -> None:
    """Store the result of a look-up: whether the record is there, or None if nothing is known."""
    rows = await ctx.db.execute(LOCK_CONNECTION_BY_ID, connection_id=due.connection.id)
    found = await ctx.db.execute(FIND_DOMAIN, domain_id=due.domain.id)
    if not rows or not found or found[0].verified_at is None:
        return
    row, domain = rows[0], found[0]
    if is_there:
        await _change(ctx, domain, checked_at=ctx.now, missed_at=None)
    elif domain.missed_at is None and (is_there is False or _is_unknown_for_long(ctx, domain)):
        await _change(ctx, domain, missed_at=ctx.now)
        await _notify(ctx, row, domain, until=ctx.now + ctx.policy[SsoPolicy].domain_grace)
    elif domain.missed_at is not None and ctx.now >= domain.missed_at + ctx.policy[SsoPolicy].domain_grace:
        # defence: SSO9 lost
        await _change(ctx, domain, verified_at=None, checked_at=None, missed_at=None, required=False)
        events.domain_lost(ctx, row, domain.domain)
        await _notify(ctx, row, domain, until=None)


def _is_unknown_for_long(ctx: Context, domain: DomainRow) -> bool:
    """Return whether the name servers of a domain have not responded for so long that its record counts as missing."""
    rules = ctx.policy[SsoPolicy]
    seen = domain.checked_at or domain.verified_at or ctx.now
    return ctx.now - seen > rules.domain_recheck + rules.domain_grace


async def _change(ctx: Context, domain: DomainRow, **columns: object) -> None:
    await ctx.db.execute(CHANGE_DOMAIN, domain_id=domain.id, **columns, updated_at=ctx.now)


async def _notify(ctx: Context, row: ConnectionRow, domain: DomainRow, *, until: datetime | None) -> None:
    """Notify the owners of the organization of a connection that a record is missing; None: the domain is lost."""
    found = await owners_of(ctx, row)
    if found is None:
        return
    record = f"{domains.label(row.provider_id)}.{domain.domain}"
    for owner in found.users:
        if until is None:
            await mails.domain_lost(ctx, owner, found.organization, domain, record)
        else:
            await mails.domain_missing(ctx, owner, found.organization, domain, record, until)
