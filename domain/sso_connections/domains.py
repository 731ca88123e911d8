"""The domains of connections, and their verification by TXT records."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.organizations.access import retried
from domain.sso.domain_names import DomainNames, LookupFailed
from domain.sso_connections import events, fields
from domain.sso_connections.errors import (
    DomainTaken,
    DomainVerificationFailed,
    DomainVerified,
    PendingDomainTaken,
)
from models.sso_connection import OWNER_OF_DOMAIN, ConnectionRow
from models.sso_domain import (
    ADD_DOMAIN,
    CHANGE_DOMAIN,
    DOMAINS,
    DOMAINS_OF_CONNECTION,
    REMOVE_DOMAIN,
    DomainRow,
    SsoDomain,
)

LABEL = "_gatewright-"
"""The prefix of the `providerId` in the name of the TXT record."""

AT_ONCE = 8
"""The number of records that are looked up at the same time."""

_MOST_IDS = 1000
"""The ids of one statement: PostgreSQL takes at most 32,767 parameters."""


class Connection(NamedTuple):
    """A connection and its domains."""

    row: ConnectionRow
    domains: Sequence[DomainRow]


class Claim(NamedTuple):
    """A domain whose record is to be looked up, and its connection."""

    connection: ConnectionRow
    domain: DomainRow


def label(provider_id: str) -> str:
    """Return the first label of the name of the TXT record."""
    return LABEL + provider_id


async def of(ctx: Context, row: ConnectionRow) -> Sequence[DomainRow]:
    """Return the domains of a connection, by name."""
    rows: Sequence[DomainRow] = await ctx.db.execute(DOMAINS_OF_CONNECTION, connection_id=row.id)
    return rows


async def load(ctx: Context, row: ConnectionRow) -> Connection:
    """Return a connection with its domains."""
    return Connection(row, await of(ctx, row))


async def load_all(ctx: Context, rows: Sequence[ConnectionRow]) -> Sequence[Connection]:
    """Return connections with their domains."""
    found: dict[str, list[DomainRow]] = {row.id: [] for row in rows}
    ids = sorted(found)
    for begin in range(0, len(ids), _MOST_IDS):
        some = col(SsoDomain.connection_id).in_(ids[begin : begin + _MOST_IDS])
        for one in await ctx.db.execute(DOMAINS.where(some)):
            found[one.connection_id].append(one)
    return [Connection(row, found[row.id]) for row in rows]


def are_verified(rows: Sequence[DomainRow]) -> bool:
    """Return whether there is at least one domain and all are verified."""
    return bool(rows) and all(row.verified_at is not None for row in rows)


async def replace(ctx: Context, row: ConnectionRow, names: Sequence[str]) -> bool:
    """Replace the domains of a locked connection; return whether they or their verification changed.

    Domains that stay keep their verification. Domains that the operator names are verified without a record. Raises
    DomainTaken if another connection has verified one of these.
    """
    known = {one.domain: one for one in await of(ctx, row)}
    # One token for all domains of a connection: the operation that requests their verification returns only one.
    token = next((one.token for one in known.values()), None) or tokens.token()
    await drop(ctx, row, keep=names)
    is_changed = known.keys() != set(names)
    for name in names:
        if name not in known:
            await _add(ctx, row, name, token)
        elif _needs_no_proof(ctx) and known[name].verified_at is None:
            await _check_free(ctx, row, name)
            await _verify(ctx, row, known[name], checked_at=None)
            is_changed = True
    return is_changed


async def drop(ctx: Context, row: ConnectionRow, *, keep: Collection[str]) -> None:
    """Remove the domains of a connection that are not in `keep`."""
    for one in await of(ctx, row):
        if one.domain not in keep:
            await ctx.db.execute(REMOVE_DOMAIN, domain_id=one.id)


def _needs_no_proof(ctx: Context) -> bool:
    """Return whether the operator names the domains, on the command line or in the configuration."""
    return ctx.caller is None


async def _add(ctx: Context, row: ConnectionRow, name: str, token: str) -> None:
    # A claim that still needs its proof keeps no other connection from the domain.
    if _needs_no_proof(ctx):
        await _check_free(ctx, row, name)
    with retried():
        await ctx.db.execute(
            ADD_DOMAIN,
            id=tokens.token(),
            connection_id=row.id,
            domain=name,
            required=False,
            token=token,
            verified_at=ctx.now if _needs_no_proof(ctx) else None,
            created_at=ctx.now,
            updated_at=ctx.now,
        )


async def owner_of(ctx: Context, name: str) -> ConnectionRow | None:
    """Return the connection that has verified a domain; None if there is none."""
    row: ConnectionRow | None = (await ctx.db.execute(OWNER_OF_DOMAIN, domain=name)).first()
    return row


async def _check_free(ctx: Context, row: ConnectionRow, name: str) -> None:
    owner = await owner_of(ctx, name)
    if owner is not None and owner.id != row.id:  # defence: SSO9 taken
        raise DomainTaken(f"{DomainTaken.message}: {name}")


async def require_sign_in(ctx: Context, row: ConnectionRow, names: Sequence[str]) -> bool:
    """Require users of these domains, and of no others, to sign in through a connection.

    Return whether that changes any domain. Raises ValidationError for a domain that is not verified.
    """
    changed = False
    rows = {one.domain: one for one in await of(ctx, row)}
    for name in names:
        if name not in rows or rows[name].verified_at is None:  # defence: SSO9 required-proved
            fields.refuse("requiredDomains", f"must be verified domains of the provider; {name} is not")
    for name, one in rows.items():
        if one.required != (name in names):
            await ctx.db.execute(CHANGE_DOMAIN, domain_id=one.id, required=name in names, updated_at=ctx.now)
            changed = True
    return changed


async def look_up(ctx: Context, claims: Sequence[Claim]) -> Sequence[bool | None]:
    """Look up the TXT record of each domain; return whether it exists, None if no name server responded.

    Call it before the transaction begins: each group of `AT_ONCE` domains takes up to 10 seconds.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def is_there(claim: Claim) -> bool | None:
        name, domain = label(claim.connection.provider_id), claim.domain
        async with slots:
            try:
                return await ctx.port[DomainNames].has_record(name, domain.domain, domain.token)
            except LookupFailed:
                return None

    return await asyncio.gather(*map(is_there, claims))


async def verify(ctx: Context, row: ConnectionRow, found: Collection[str]) -> None:
    """Verify those domains of a locked connection whose names are in `found`, the names with a record.

    Raises DomainVerified if all were verified before, PendingDomainTaken if another connection has verified one, and
    DomainVerificationFailed if a record is missing. After the last two, the other domains are verified nevertheless.
    """
    pending = [one for one in await of(ctx, row) if one.verified_at is None]
    if not pending:
        raise DomainVerified
    taken: DomainTaken | None = None
    for one in pending:
        if one.domain in found:
            try:
                await _check_free(ctx, row, one.domain)
            except DomainTaken as refusal:
                taken = taken or refusal
            else:
                await _verify(ctx, row, one, checked_at=ctx.now)
    if taken is not None:
        raise PendingDomainTaken(taken.message)
    missing = next((one.domain for one in pending if one.domain not in found), None)
    if missing is not None:  # defence: SSO9 proof
        raise DomainVerificationFailed(f"Unable to verify domain ownership for {missing}. Try again later")


async def _verify(ctx: Context, row: ConnectionRow, one: DomainRow, *, checked_at: datetime | None) -> None:
    """Store that a domain is verified; `checked_at` is when its record was found, None if it needs no record."""
    with retried():
        await ctx.db.execute(
            CHANGE_DOMAIN,
            domain_id=one.id,
            verified_at=ctx.now,
            checked_at=checked_at,
            missed_at=None,
            updated_at=ctx.now,
        )
    events.domain_verified(ctx, row, one.domain)
