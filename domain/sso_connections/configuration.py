"""Write the connections of the configuration into the database when the service starts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from domain.context import Context
from domain.sso import configuration
from domain.sso.configuration import SamlConfig
from domain.sso_connections import domains, fields, operator
from domain.sso_connections.operator import Prepared
from domain.sso_connections.policy import ConfiguredConnection, SsoConnectionPolicy
from domain.sso_connections.providers import Provider
from models.lease import Lease
from models.organization import FIND_BY_SLUG, FIND_ORGANIZATION
from models.sso_connection import CONNECTIONS_OF_SOURCE, LOCK_CONNECTION, ConnectionRow, ConnectionSource
from models.statements import upsert

_LEASE = "sso_connections"
"""The lease whose row is locked before the configuration is applied."""


class Problem(NamedTuple):
    """Why a part of the configuration has no effect."""

    provider_id: str
    what: str


class _Configured(NamedTuple):
    """A connection as configured, with what could be looked up."""

    organization_id: str | None
    domains: list[str]
    required: list[str]
    configured: ConfiguredConnection


async def apply(ctx: Context) -> list[Problem]:
    """Add, change and delete connections in the database so that they match the configuration.

    Return the parts of the configuration that have no effect: a domain that another connection has verified, and a
    connection whose organization does not exist. A configured connection replaces one with the same `providerId`.
    """
    wanted, problems = await _wanted(ctx)
    # Nothing is written if nothing has changed, so that the service starts while the database is read-only.
    if await _are_applied(ctx, wanted):
        return problems
    await _lock(ctx)
    # Deletions come first, so that a domain can move from one connection to another.
    for known_row in await _known(ctx):
        if known_row.provider_id in wanted:
            await domains.drop(ctx, known_row, keep=wanted[known_row.provider_id].domains)
        else:
            await operator.delete_row(ctx, known_row)
    for provider_id, one in wanted.items():
        await _store(ctx, provider_id, one)
    return problems


async def _store(ctx: Context, provider_id: str, one: _Configured) -> None:
    """Create or change a configured connection, in place of one with the same name that comes from elsewhere."""
    row: ConnectionRow | None = (await ctx.db.execute(LOCK_CONNECTION, provider_id=provider_id)).first()
    if row is not None and (
        row.source != ConnectionSource.CONFIG or row.organization_id != one.organization_id
    ):
        await operator.delete_row(ctx, row)
        row = None
    prepared = await _prepared(ctx, row, one)
    if row is None:
        await operator.create(ctx, provider_id, one.organization_id, prepared, ConnectionSource.CONFIG)
    else:
        await operator.change(ctx, row, prepared)


async def _wanted(ctx: Context) -> tuple[Mapping[str, _Configured], list[Problem]]:
    wanted: dict[str, _Configured] = {}
    problems: list[Problem] = []
    for provider_id, one in ctx.policy[SsoConnectionPolicy].configured.items():
        organization_id = await _organization(ctx, one.organization)
        if one.organization is not None and organization_id is None:
            problems.append(Problem(provider_id, f"there is no organization {one.organization}"))
            continue
        names = [fields.domain(ctx, name) for name in one.domains]
        free = [name for name in names if not await _is_of_another(ctx, provider_id, name)]
        problems += [
            Problem(provider_id, f"{name} is verified by another connection")
            for name in set(names) - set(free)
        ]
        required = [fields.domain(ctx, name) for name in one.required_domains]
        wanted[provider_id] = _Configured(
            organization_id, free, [name for name in required if name in free], one
        )
    return wanted, problems


async def _organization(ctx: Context, name: str | None) -> str | None:
    """Return the id of an organization by its id or slug."""
    if name is None:
        return None
    rows = await ctx.db.execute(FIND_ORGANIZATION, organization_id=name) or await ctx.db.execute(
        FIND_BY_SLUG, slug=name.lower()
    )
    return None if not rows else str(rows[0].id)


async def _is_of_another(ctx: Context, provider_id: str, domain: str) -> bool:
    owner = await domains.owner_of(ctx, domain)
    if owner is None or owner.provider_id == provider_id:
        return False
    configured = ctx.policy[SsoConnectionPolicy].configured.get(owner.provider_id)
    if configured is not None:
        return domain in {fields.domain(ctx, name) for name in configured.domains}
    return owner.source != ConnectionSource.CONFIG  # One that is no longer configured is deleted.


async def _known(ctx: Context) -> list[ConnectionRow]:
    return list(await ctx.db.execute(CONNECTIONS_OF_SOURCE, source=ConnectionSource.CONFIG.value))


async def _are_applied(ctx: Context, wanted: Mapping[str, _Configured]) -> bool:
    """Return whether the table has exactly these connections, as they are configured."""
    known = {row.provider_id: row for row in await _known(ctx)}
    return known.keys() == wanted.keys() and all(
        [await _is_applied(ctx, known[name], one) for name, one in wanted.items()]
    )


async def _is_applied(ctx: Context, row: ConnectionRow, one: _Configured) -> bool:
    prepared = await _prepared(ctx, row, one)
    own = {each.domain: each.required for each in await domains.of(ctx, row)}
    return (
        row.organization_id == one.organization_id
        and all(value == getattr(row, name) for name, value in prepared.columns.items())
        and prepared.provider == operator.provider_of(ctx, row)
        and own == {name: name in one.required for name in one.domains}
    )


async def _prepared(ctx: Context, row: ConnectionRow | None, one: _Configured) -> Prepared:
    provider = await operator.with_key(ctx, _provider(ctx, row, one.configured))
    return Prepared(one.configured.columns, provider, one.domains, one.required)


def _provider(ctx: Context, row: ConnectionRow | None, one: ConfiguredConnection) -> Provider:
    """Return the provider of a configured connection, with the key that was created for it, if there is one."""
    config: Any = one.config
    stored = None if row is None else configuration.config_of(ctx.cipher, row)
    if isinstance(config, SamlConfig) and isinstance(stored, SamlConfig):
        config = replace(config, private_key=stored.private_key, certificate=stored.certificate)
    return Provider(one.issuer, config)


async def _lock(ctx: Context) -> None:
    """Lock the configuration, so that instances that start at once apply it one after the other."""
    statement = upsert(ctx.db.dialect, Lease).values(name=_LEASE, holder=_LEASE, until=ctx.now)
    await ctx.db.execute(
        statement.on_conflict_do_update(index_elements=["name"], set_={"until": statement.excluded.until})
    )
