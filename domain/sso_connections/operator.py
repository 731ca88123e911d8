"""Manage connections without checking permissions, for the operator and for callers who were checked before.

Without a caller in the context, the operator acts on the command line or by the configuration.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from domain import tokens
from domain.accounts import accounts
from domain.context import Context, StaleRead
from domain.errors import Field, ValidationError
from domain.organizations.access import retried
from domain.sessions import connections as session_connections
from domain.sso import configuration
from domain.sso.configuration import Config, SamlConfig
from domain.sso.saml import SamlLibrary
from domain.sso_connections import domains, events, fields, providers
from domain.sso_connections.domains import Connection
from domain.sso_connections.errors import (
    SsoProviderExists,
    SsoProviderNotFound,
    SsoProviderReadOnly,
    TooManySsoProviders,
)
from domain.sso_connections.policy import SsoConnectionPolicy
from domain.sso_connections.providers import Provider
from models.oauth_grant import END_GRANTS_OF_CONNECTION
from models.organization import FIND_ORGANIZATION
from models.sso_connection import (
    ADD_CONNECTION,
    CHANGE_CONNECTION,
    COUNT_CONNECTIONS,
    FIND_CONNECTION,
    LIST_CONNECTIONS,
    LOCK_CONNECTION,
    REMOVE_CONNECTION,
    ConnectionRow,
    ConnectionSource,
    ConnectionState,
    ConnectionType,
    SecondFactor,
    account_provider,
)

_PROVIDER = ("issuer", "oidcConfig", "samlConfig", "overrideUserInfo")
"""The fields that describe the provider."""

_DEFAULTS = {
    # Active as the clients expect it: users sign in only once a domain is verified.
    "state": ConnectionState.ACTIVE.value,
    "sign_up": True,
    "second_factor": SecondFactor.PROVIDER.value,
    "default_role": "member",
    "group_roles": "{}",
    "idp_initiated": False,
}


class Prepared(NamedTuple):
    """The checked values of a request that creates or changes a connection. None leaves a value unchanged."""

    columns: Mapping[str, Any]
    """The column values of the fields in the request, except those of the provider."""
    provider: Provider | None
    """The whole provider; None if the request has no field of it."""
    domains: Sequence[str] | None
    required: Sequence[str] | None
    """The domains whose users must sign in through the connection."""


async def list_all(ctx: Context) -> Sequence[Connection]:
    """Return all connections, the oldest first."""
    return await domains.load_all(ctx, await ctx.db.execute(LIST_CONNECTIONS))


async def find(ctx: Context, provider_id: str) -> ConnectionRow:
    """Return a connection. Raises SsoProviderNotFound."""
    row: ConnectionRow | None = (await ctx.db.execute(FIND_CONNECTION, provider_id=provider_id)).first()
    if row is None:
        raise SsoProviderNotFound
    return row


def provider_of(ctx: Context, row: ConnectionRow) -> Provider | None:
    """Return the provider of a connection; None if its configuration cannot be read."""
    config = configuration.config_of(ctx.cipher, row)
    return None if config is None else Provider(row.issuer, config)


async def prepare(ctx: Context, sent: Mapping[str, Any], seen: ConnectionRow | None) -> Prepared:
    """Check the fields of a request that creates a connection, or changes the connection `seen`.

    It sends requests to the provider, so call it before the transaction begins. Raises ValidationError,
    InvalidSsoDomain, InvalidProviderUrl, DiscoveryFailed.
    """
    columns = fields.columns(ctx, sent)
    names = fields.domains(ctx, sent["domain"]) if "domain" in sent else None
    required = None
    if "requiredDomains" in sent:
        required = [fields.domain(ctx, name) for name in sent["requiredDomains"]]
    provider = None
    if any(name in sent for name in _PROVIDER):
        known = None if seen is None else provider_of(ctx, seen)
        provider = await with_key(ctx, await providers.read(ctx, sent, known))
    return Prepared(columns, provider, names, required)


async def with_key(ctx: Context, provider: Provider) -> Provider:
    """Return a SAML provider with a new key for signing requests and decrypting assertions, unless it has a key.

    An OpenID provider is returned unchanged.
    """
    config = provider.config
    if not isinstance(config, SamlConfig) or config.private_key is not None:
        return provider
    # In a thread, because it takes up to a second.
    key = await asyncio.to_thread(ctx.port[SamlLibrary]().generate_key, ctx.policy.app_name, ctx.now)
    return Provider(
        provider.issuer, replace(config, private_key=key.private_key, certificate=key.certificate)
    )


async def create(
    ctx: Context,
    provider_id: str,
    organization_id: str | None,
    prepared: Prepared,
    source: ConnectionSource,
) -> ConnectionRow:
    """Create a connection of an organization, or of the whole service if `organization_id` is None; return it.

    Raises SsoProviderExists, TooManySsoProviders, DomainTaken, ValidationError.
    """
    await _check_organization(ctx, organization_id, source)
    if await ctx.db.execute(FIND_CONNECTION, provider_id=provider_id):
        raise SsoProviderExists
    if prepared.provider is None:
        providers.refuse_missing()
    row = ConnectionRow(
        **{
            "name": provider_id,
            **_DEFAULTS,
            **prepared.columns,
            **_provider_columns(ctx, prepared.provider),
            "id": tokens.token(),
            "provider_id": provider_id,
            "organization_id": organization_id,
            "source": source.value,
            "created_by": None if ctx.caller is None else ctx.caller.user.id,
            "last_used_at": None,
            "created_at": ctx.now,
            "updated_at": ctx.now,
        }
    )
    with retried():
        await ctx.db.execute(ADD_CONNECTION, **row._asdict())
    events.created(ctx, row)
    await domains.replace(ctx, row, prepared.domains or ())
    if prepared.required:
        await domains.require_sign_in(ctx, row, prepared.required)
    return row


async def _check_organization(ctx: Context, organization_id: str | None, source: ConnectionSource) -> None:
    if organization_id is None:
        return
    if not await ctx.db.execute(FIND_ORGANIZATION, organization_id=organization_id):
        raise ValidationError(
            "[body.organizationId] is not an organization",
            Field("body", "organizationId", "is not an organization"),
        )
    if source is ConnectionSource.OPERATION:
        number: int = (await ctx.db.execute(COUNT_CONNECTIONS, organization_id=organization_id)).scalar()
        if number >= ctx.policy[SsoConnectionPolicy].limit_per_organization:  # defence: SSO10 number
            raise TooManySsoProviders


async def update(ctx: Context, seen: ConnectionRow, prepared: Prepared) -> ConnectionRow:
    """Lock and change the connection `seen`, with the values that `prepare` returned for it; return the new state.

    A change to another provider deletes the identities and sessions of the connection. Raises SsoProviderNotFound,
    SsoProviderReadOnly, DomainTaken, ValidationError.
    """
    row = await lock(ctx, seen)
    if _state_of(row) != _state_of(seen):
        raise StaleRead  # The request was checked against another state.
    return await change(ctx, row, prepared)


def _state_of(row: ConnectionRow) -> ConnectionRow:
    """Return a connection without what every sign-in changes."""
    return row._replace(last_used_at=None, updated_at=row.created_at)


async def lock(ctx: Context, seen: ConnectionRow) -> ConnectionRow:
    """Lock the connection `seen` for a change; return its row. Raises SsoProviderNotFound, SsoProviderReadOnly."""
    row: ConnectionRow | None = (await ctx.db.execute(LOCK_CONNECTION, provider_id=seen.provider_id)).first()
    # Another connection may have the name by now, with other managers.
    if row is None or row.id != seen.id:  # defence: SSO10 same-connection
        raise SsoProviderNotFound
    if row.source == ConnectionSource.CONFIG:
        raise SsoProviderReadOnly
    return row


async def change(ctx: Context, row: ConnectionRow, prepared: Prepared) -> ConnectionRow:
    """Change a locked connection as `update` does; return the new state. Raises DomainTaken, ValidationError."""
    changed = {name: value for name, value in prepared.columns.items() if value != getattr(row, name)}
    names, ended, old = {fields.NAMES[name] for name in changed}, 0, provider_of(ctx, row)
    if prepared.provider is not None and prepared.provider != old:
        changed |= _provider_columns(ctx, prepared.provider)
        names |= _changed_parts(row, old, prepared.provider)
        if not _has_same_subjects(prepared.provider, old):  # defence: SSO10 other-provider
            ended = await end_identities(ctx, row)
    if prepared.domains is not None and await domains.replace(ctx, row, prepared.domains):
        names.add("domain")
    if prepared.required is not None and await domains.require_sign_in(ctx, row, prepared.required):
        names.add("requiredDomains")
    if not names:
        return row
    found = await ctx.db.execute(CHANGE_CONNECTION, connection_id=row.id, **changed, updated_at=ctx.now)
    now: ConnectionRow = found[0]
    events.updated(ctx, now, names, identities_ended=ended)
    return now


async def remove(ctx: Context, seen: ConnectionRow) -> None:
    """Delete a connection with the identities and sessions of its users.

    Raises SsoProviderNotFound, SsoProviderReadOnly.
    """
    await delete_row(ctx, await lock(ctx, seen))


async def delete_row(ctx: Context, row: ConnectionRow) -> None:
    """Delete a locked connection with the identities and sessions of its users."""
    ended = await end_identities(ctx, row)
    await ctx.db.execute(REMOVE_CONNECTION, connection_id=row.id)
    events.deleted(ctx, row, identities_ended=ended)


async def end_identities(ctx: Context, row: ConnectionRow) -> int:
    """Delete the identities of a locked connection; end its sessions and the grants of applications in them.

    Return the number of deleted identities.
    """
    await session_connections.end_sessions(ctx, row.id)
    # After the sessions: who is issuing tokens has locked one of them.
    await ctx.db.execute(END_GRANTS_OF_CONNECTION, connection_id=row.id)  # defence: SSO10 grants
    return await accounts.remove_of_provider(ctx, account_provider(row.id))  # defence: SSO10 identities


def _has_same_subjects(new: Provider, old: Provider | None) -> bool:
    """Return whether the subjects of a changed provider are the users that they were before."""
    # Another claim may give the subject of one user to another user.
    # defence: SSO10 subject-claim
    return old is not None and new.is_same(old) and new.config.names.id == old.config.names.id


def _changed_parts(row: ConnectionRow, old: Provider | None, new: Provider) -> set[str]:
    """Return the fields in which two providers differ."""
    name = "samlConfig" if isinstance(new.config, SamlConfig) else "oidcConfig"
    config = {name} if old is None or old.config != new.config else set()
    return config | ({"issuer"} if row.issuer != new.issuer else set())


def _provider_columns(ctx: Context, provider: Provider) -> dict[str, Any]:
    config: Config = provider.config
    kind = ConnectionType.SAML if isinstance(config, SamlConfig) else ConnectionType.OIDC
    return {
        "type": kind.value,
        "issuer": provider.issuer,
        "config": configuration.encrypt_config(ctx.cipher, config),
    }
