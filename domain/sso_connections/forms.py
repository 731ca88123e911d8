"""Change connections by forms of the hosted pages. Detects forms that are sent twice, or from an outdated page."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from domain.context import Context
from domain.errors import Field, ValidationError
from domain.sso.configuration import SamlConfig
from domain.sso_connections import connections, fields, operator
from domain.sso_connections.errors import SsoProviderExists, SsoProviderNotFound, StaleSsoProvider
from models.sso_connection import CONNECTION_BY_NAME, ConnectionRow, ConnectionState

_LONGEST_ID = 40
_NOT_ALLOWED = re.compile(r"[^a-z0-9]+")


async def unused_id(ctx: Context, slug: str, provider: str) -> str:
    """Return an unused `providerId` for a new connection, made of `slug` and `provider`, such as `acme-okta`."""
    base = _NOT_ALLOWED.sub("-", slug).strip("-")[: _LONGEST_ID - len(provider) - 4].strip("-")
    first = f"{base}-{provider}".strip("-")
    number, name = 1, first
    while await ctx.reads.one(CONNECTION_BY_NAME, name) is not None:
        number += 1
        name = f"{first}-{number}"
    return name


async def create(ctx: Context, organization_id: str, sent: Mapping[str, Any]) -> ConnectionRow:
    """Create a draft of a connection of an organization; return the same draft if the form is sent twice.

    Raises Forbidden, SessionNotFresh, ValidationError, InvalidSsoDomain, InvalidProviderUrl, DiscoveryFailed,
    SsoProviderExists, TooManySsoProviders.
    """
    wanted = {**sent, "organizationId": organization_id, "state": ConnectionState.DRAFT.value}
    try:
        return (await connections.register(ctx, wanted)).row
    except SsoProviderExists:
        found = await _own(ctx, sent["providerId"])
        mine = (organization_id, ctx.signed_in.user.id, sent["name"], ConnectionState.DRAFT)
        if found is None or _origin_of(found) != mine:  # defence: H7 created-connection
            raise
        return found


def _origin_of(row: ConnectionRow) -> tuple[str | None, str | None, str, str]:
    return row.organization_id, row.created_by, row.name, row.state


async def _own(ctx: Context, provider_id: str) -> ConnectionRow | None:
    try:
        return (await connections.get(ctx, provider_id)).row
    except SsoProviderNotFound:
        return None


async def update_settings(
    ctx: Context,
    provider_id: str,
    sent: Mapping[str, Any],
    names: Mapping[str, str | None],
    *,
    seen: datetime | None,
) -> None:
    """Change fields of a connection (`sent`), and names of claims or attributes (`names`).

    `seen` is the `updated_at` of the connection that the form showed. If it was changed since, raises StaleSsoProvider,
    unless all values are stored already, as after a form that is sent twice. Also raises SsoProviderNotFound,
    SessionNotFresh, Forbidden, SsoProviderReadOnly, ValidationError, InvalidSsoDomain, InvalidProviderUrl and
    DiscoveryFailed.
    """
    row = (await ctx.in_new_transaction(partial(connections.get, provider_id=provider_id))).row
    provider = operator.provider_of(ctx, row)
    if provider is None:
        raise SsoProviderNotFound
    known = provider.config.names
    wanted = {key: names.get(column, getattr(known, column)) for key, column in fields.MAPPING.items()}
    part = "samlConfig" if isinstance(provider.config, SamlConfig) else "oidcConfig"
    changes = {**sent, part: {"mapping": wanted}}
    if row.updated_at != seen:
        prepared = await operator.prepare(ctx, changes, row)
        columns = prepared.columns.items()
        if prepared.provider == provider and all(getattr(row, name) == value for name, value in columns):
            return
        raise StaleSsoProvider  # defence: H6 seen-connection
    await connections.update(ctx, provider_id, changes)


async def remove(ctx: Context, provider_id: str, typed_id: str) -> None:
    """Delete a connection, if the user has typed its `providerId` as confirmation.

    Raises ValidationError if `typed_id` differs, SsoProviderNotFound, SessionNotFresh, SsoProviderReadOnly.
    """
    if typed_id.strip() != provider_id:
        problem = "must be the identifier of the connection"
        raise ValidationError(f"[body.typedConnection] {problem}", Field("body", "typedConnection", problem))
    await connections.remove(ctx, provider_id)


def group_roles(text: str) -> Mapping[str, str]:
    """Parse lines of the form `group = roles`; return the roles by group. Raises ValidationError."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        group, equals, roles = line.rpartition("=")
        if not equals or not group.strip() or not roles.strip() or group.strip() in found:
            fields.refuse("groupRoles", "must have a group, an equals sign and roles on each line")
        found[group.strip()] = roles.strip()
    return found
