"""Find the connection through which a user signs in."""

from typing import NamedTuple

from domain.context import Context
from domain.errors import Field, ValidationError
from domain.identifiers import domain_of
from domain.sso_sign_in.errors import ConnectionNotFound
from models.organization import FIND_BY_SLUG, OrganizationRow
from models.sso_connection import (
    CONNECTION_OF_DOMAIN,
    CONNECTIONS_OF_ORGANIZATION,
    FIND_CONNECTION,
    ConnectionRow,
)
from models.sso_domain import DOMAINS_OF_CONNECTION

_FIELDS = ("providerId", "organizationSlug", "domain", "email")
"""The fields of a request that name a connection."""


class ConnectionSelector(NamedTuple):
    """The values that may name a connection. The first field that is not None or empty decides."""

    provider_id: str | None = None
    organization_slug: str | None = None
    domain: str | None = None
    email: str | None = None
    type: str | None = None
    """`oidc` or `saml`, if only such a connection is wanted."""


async def find(ctx: Context, selector: ConnectionSelector) -> ConnectionRow:
    """Return the active connection that `selector` names, which must have a verified domain.

    Raises ValidationError if all fields are empty, ConnectionNotFound.
    """
    for row in await _named(ctx, selector):
        if row.is_active and selector.type in (None, row.type) and await domains_of(ctx, row.id):
            return row
    raise ConnectionNotFound


async def domains_of(ctx: Context, connection_id: str) -> set[str]:
    """Return the verified domains of a connection: it may sign in users with addresses in them."""
    rows = await ctx.db.execute(DOMAINS_OF_CONNECTION, connection_id=connection_id)
    # Domains that the operator has named are verified from the beginning.
    return {row.domain for row in rows if row.verified_at is not None}  # defence: SSO8 verified-only


async def _named(ctx: Context, selector: ConnectionSelector) -> list[ConnectionRow]:
    if not any(selector[: len(_FIELDS)]):
        message = f"One of {', '.join(_FIELDS)} is required"
        raise ValidationError(message, *(Field("body", name, message) for name in _FIELDS))
    if selector.provider_id:
        return list(await ctx.db.execute(FIND_CONNECTION, provider_id=selector.provider_id))
    if selector.organization_slug:
        slug = selector.organization_slug.lower()
        found: OrganizationRow | None = (await ctx.db.execute(FIND_BY_SLUG, slug=slug)).first()
        organization_id = "" if found is None else found.id
        return list(await ctx.db.execute(CONNECTIONS_OF_ORGANIZATION, organization_id=organization_id))
    domain = (selector.domain or domain_of(selector.email or "")).lower()
    return list(await ctx.db.execute(CONNECTION_OF_DOMAIN, domain=domain))
