"""Look up the TXT records of verified domains again. A domain whose record stays missing is no longer verified."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from domain.context import Context
from domain.sso.policy import SsoPolicy
from domain.sso_connections import domains, events, mails
from domain.sso_connections.domains import Claim
from domain.sso_connections.owners import owners_of
from models.sso_connection import FIND_CONNECTION_BY_ID, LOCK_CONNECTION_BY_ID, ConnectionRow
from models.sso_domain import CHANGE_DOMAIN, DUE_DOMAINS, FIND_DOMAIN, DomainRow

MOST = 500
"""The most domains of one run, which takes at most eleven minutes if no name server responds."""


async def run(ctx: Context, most: int = MOST) -> None:
    """Look up the records of up to `most` domains that are due, and store each result in its own transaction.

    Further domains are left for the next run.
    """
    claims = await ctx.in_new_transaction(partial(_due, most=most))
    for begin in range(0, len(claims), domains.AT_ONCE):
        some = claims[begin : begin + domains.AT_ONCE]
        for claim, is_there in zip(some, await domains.look_up(ctx, some), strict=True):
            await ctx.in_new_transaction(partial(_store, claim=claim, is_there=is_there))


async def _due(ctx: Context, most: int) -> Sequence[Claim]:
    until = ctx.now - ctx.policy[SsoPolicy].domain_recheck
    found: list[Claim] = []
    for domain in await ctx.db.execute(DUE_DOMAINS, until=until, most=most):
        rows = await ctx.db.execute(FIND_CONNECTION_BY_ID, connection_id=domain.connection_id)
        found += [Claim(row, domain) for row in rows]
    return found


async def _store(ctx: Context, claim: Claim, is_there: bool | None) -> None:
    """Store the result of a look-up: whether the record is there, or None if nothing is known."""
    rows = await ctx.db.execute(LOCK_CONNECTION_BY_ID, connection_id=claim.connection.id)
    found = await ctx.db.execute(FIND_DOMAIN, domain_id=claim.domain.id)
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
    else:
        await _change(ctx, domain)  # Others have their turn before it.


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
