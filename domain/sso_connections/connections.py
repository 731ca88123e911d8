"""Manage connections for callers who may do so, and return the public SAML metadata of a connection."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from domain.context import Context
from domain.errors import Field, Forbidden, ValidationError
from domain.organizations import access as organization_access
from domain.social.errors import ProviderNotFound
from domain.sso_connections import access, domains, fields, operator, other_sessions
from domain.sso_connections.domains import Claim, Connection
from domain.sso_connections.errors import DomainVerified, SsoProviderNotFound
from domain.sso_connections.operator import Prepared
from domain.sso_sign_in.saml_peers import peers_of
from models.member import MemberRow
from models.sso_connection import (
    CONNECTION_BY_NAME,
    CONNECTIONS_OF_ORGANIZATION,
    FIND_CONNECTION,
    ConnectionRow,
    ConnectionSource,
)
from models.user import UserRow


async def register(ctx: Context, sent: Mapping[str, Any]) -> Connection:
    """Create a connection from the fields of a request; return it with its domains.

    Raises Forbidden, SessionNotFresh, ValidationError, InvalidSsoDomain, InvalidProviderUrl, DiscoveryFailed,
    SsoProviderExists, TooManySsoProviders.
    """
    organization_id = sent.get("organizationId")
    # Only these callers may have this service send requests to a provider. Checked again under the lock below.
    await ctx.in_new_transaction(partial(access.require_register, organization_id=organization_id))
    prepared = await operator.prepare(ctx, sent, None)
    member = await access.require_register(ctx, organization_id, lock=True)
    _check_rank(ctx, member, prepared)
    row = await operator.create(
        ctx, sent["providerId"], organization_id, prepared, ConnectionSource.OPERATION
    )
    return await domains.load(ctx, row)


async def list_all(ctx: Context) -> Sequence[Connection]:
    """Return the connections that the caller may manage, the oldest first."""
    return await domains.load_all(ctx, await access.list_own(ctx))


async def list_of_organization(ctx: Context, organization_id: str) -> Sequence[Connection]:
    """Return the connections of an organization, the oldest first; none if the caller may not manage them."""
    if not await access.can_manage(ctx, organization_id):
        return []
    rows = await ctx.db.execute(CONNECTIONS_OF_ORGANIZATION, organization_id=organization_id)
    return await domains.load_all(ctx, rows)


async def get(ctx: Context, provider_id: str) -> Connection:
    """Return a connection. Raises SsoProviderNotFound if there is none that the caller may manage."""
    row, _ = await _find(ctx, provider_id)
    return await domains.load(ctx, row)


async def update(ctx: Context, provider_id: str, sent: Mapping[str, Any]) -> Connection:
    """Change the fields of a connection that `sent` contains; return the connection.

    With `revokeOtherSessions`, other sessions of the users who must sign in through the connection end. Raises
    SsoProviderNotFound, SessionNotFresh, Forbidden, SsoProviderReadOnly, ValidationError, InvalidSsoDomain,
    InvalidProviderUrl, DiscoveryFailed.
    """
    if not sent:
        raise ValidationError(
            "No fields provided for update", Field("body", "providerId", "must come with another field")
        )
    seen, _ = await ctx.in_new_transaction(partial(_find, provider_id=provider_id, change=True))
    prepared = await operator.prepare(ctx, sent, seen)
    users = await other_sessions.lock_users(ctx, seen) if sent.get("revokeOtherSessions") else ()
    member = await _lock(ctx, seen)
    _check_rank(ctx, member, prepared)
    row = await operator.update(ctx, seen, prepared)
    await other_sessions.end(ctx, row, users)  # defence: SSO11 old-sessions
    return await domains.load(ctx, row)


async def remove(ctx: Context, provider_id: str) -> None:
    """Delete a connection. Raises SsoProviderNotFound, SessionNotFresh, SsoProviderReadOnly."""
    row, _ = await _find(ctx, provider_id)
    await _lock(ctx, row)
    await operator.remove(ctx, row)


async def request_verification(ctx: Context, provider_id: str) -> str:
    """Return the value of the TXT records that verify the domains of a connection.

    Raises SsoProviderNotFound, SessionNotFresh, DomainVerified.
    """
    return (await _pending(ctx, provider_id)).domains[0].token


async def verify_domains(ctx: Context, provider_id: str) -> None:
    """Verify the domains of a connection by their TXT records.

    Raises SsoProviderNotFound, SessionNotFresh, DomainVerified, PendingDomainTaken, DomainVerificationFailed.
    """
    row, pending = await ctx.in_new_transaction(partial(_pending, provider_id=provider_id))
    are_there = await domains.look_up(ctx, [Claim(row, one) for one in pending])
    found = {one.domain for one, is_there in zip(pending, are_there, strict=True) if is_there}
    await _lock(ctx, row)
    await domains.verify(ctx, await operator.lock(ctx, row), found)


async def add_domains(ctx: Context, provider_id: str, text: str) -> None:
    """Add domains, separated by commas or white space, to a connection. Its other domains stay unchanged.

    Raises SsoProviderNotFound, SessionNotFresh, SsoProviderReadOnly, ValidationError, InvalidSsoDomain.
    """
    row, own = await _locked(ctx, provider_id)
    names = fields.domains(ctx, text.replace(",", " ").split())
    known = [one.domain for one in own]
    wanted = fields.domains(ctx, [*known, *names])
    await operator.change(ctx, row, Prepared({}, None, wanted, None))


async def remove_domain(ctx: Context, provider_id: str, name: str) -> None:
    """Remove a domain from a connection; do nothing if the connection does not have it.

    Raises SsoProviderNotFound, SessionNotFresh, SsoProviderReadOnly, ValidationError for the last domain.
    """
    row, own = await _locked(ctx, provider_id)
    kept = fields.domains(ctx, [one.domain for one in own if one.domain != name])
    await operator.change(ctx, row, Prepared({}, None, kept, None))


async def require_domain(
    ctx: Context, provider_id: str, name: str, *, required: bool, revoke_others: bool = False
) -> None:
    """Require users of a verified domain to sign in through the connection, or no longer require it.

    With `revoke_others`, sessions of these users that the connection did not open end. Raises
    SsoProviderNotFound, SessionNotFresh, SsoProviderReadOnly, ValidationError.
    """
    users: Sequence[UserRow] = ()
    if revoke_others:
        seen, _ = await _find(ctx, provider_id, change=True)
        users = await other_sessions.lock_users(ctx, seen)
    row, own = await _locked(ctx, provider_id)
    names = [one.domain for one in own if one.required and one.domain != name]
    row = await operator.change(ctx, row, Prepared({}, None, None, [*names, name] if required else names))
    await other_sessions.end(ctx, row, users)


async def saml_metadata(ctx: Context, provider_id: str) -> bytes:
    """Return the metadata document of this service for a SAML connection. Raises SsoProviderNotFound."""
    row = await ctx.reads.one(CONNECTION_BY_NAME, provider_id)
    try:
        if row is None:
            raise ProviderNotFound
        peers = peers_of(ctx, row)
    except ProviderNotFound:
        raise SsoProviderNotFound from None
    return peers.messages.write_metadata(peers.own, signs_requests=peers.config.signs_requests)


async def _pending(ctx: Context, provider_id: str) -> Connection:
    """Return a connection that the caller may change, and its domains that are not verified."""
    row, _ = await _find(ctx, provider_id, change=True)
    pending = [one for one in await domains.of(ctx, row) if one.verified_at is None]
    if not pending:
        raise DomainVerified
    return Connection(row, pending)


async def _find(
    ctx: Context, provider_id: str, *, change: bool = False
) -> tuple[ConnectionRow, MemberRow | None]:
    row: ConnectionRow | None = (await ctx.db.execute(FIND_CONNECTION, provider_id=provider_id)).first()
    return await access.require(ctx, row, change=change)


async def _locked(ctx: Context, provider_id: str) -> Connection:
    """Return a connection that the caller may change, locked, with its domains."""
    seen, _ = await _find(ctx, provider_id, change=True)
    await _lock(ctx, seen)
    return await domains.load(ctx, await operator.lock(ctx, seen))


async def _lock(ctx: Context, row: ConnectionRow) -> MemberRow | None:
    """Lock the organization of a connection, and check that the caller may still change it.

    Return the membership of a caller who is not an administrator.
    """
    if row.organization_id is not None:
        await organization_access.lock(ctx, row.organization_id)
    _, member = await access.require(ctx, row, change=True)
    return member


def _check_rank(ctx: Context, member: MemberRow | None, prepared: Prepared) -> None:
    """Check that a member gives only roles whose powers they have. Raises Forbidden."""
    if member is not None:
        given = fields.roles_in(prepared.columns)
        organization_access.require_rank(ctx, member, given, Forbidden)  # defence: SSO10 rank
