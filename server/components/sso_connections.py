"""Connections for single sign-on: adapters for domain names and discovery, configured connections, periodic checks."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

import structlog

from domain.organizations import roles
from domain.sso.discovery import ProviderDiscovery
from domain.sso.domain_names import DomainNames, InvalidDomain
from domain.sso_connections import certificate_notices, configuration, recheck
from models.discovery import lazy_import
from server.components.component import Component, Core, PeriodicJob
from server.config.base import Settings
from server.config.groups.organizations import OrganizationSettings
from server.config.groups.sso import SsoSettings, name_server
from server.outbound import LazyClient
from server.outbound.guard import SystemResolver, guard_of
from server.sso.discovery import Discovery

if TYPE_CHECKING:
    from server.sso.domain_names import DnsDomainNames

RECHECK_EVERY = 3600.0
"""Seconds between two checks of verified domains, and between two checks for certificates that expire soon."""

_log = structlog.get_logger(__name__)


class LazyDomainNames:
    """Normalizes domain names and looks up TXT records by `DnsDomainNames`, which is loaded at the first use."""

    def __init__(self, servers: Sequence[tuple[str, int]]) -> None:
        self._servers = servers
        self._names: DnsDomainNames | None = None

    def normalize(self, text: str) -> str:
        """Return a domain name in canonical form. Raises InvalidDomain."""
        return self._loaded().normalize(text)

    async def has_record(self, label: str, domain: str, value: str) -> bool:
        """Return whether the domain has the TXT record `value` under `label`. Raises LookupFailed."""
        return await self._loaded().has_record(label, domain, value)

    def _loaded(self) -> "DnsDomainNames":
        if self._names is None:
            module = lazy_import("server.sso.domain_names")
            servers = [module.NameServer(ip_address(address), port) for address, port in self._servers]
            self._names = module.DnsDomainNames(servers)
        return self._names


class SsoConnections(Component):
    """The component that stores configured connections, and periodically checks domains and certificates."""

    def __init__(self, core: Core) -> None:
        self._core = core
        chosen = core.settings[SsoSettings]
        self._is_enabled = chosen.enabled
        core.port.add(DomainNames, LazyDomainNames([name_server(text) for text in chosen.resolvers]))
        # A resolver of its own: the look-ups of providers do not hold up those of webhooks.
        client = LazyClient(guard_of(core.settings, SystemResolver()))
        core.port.add(
            ProviderDiscovery, Discovery(client, development=core.settings.profile == "development")
        )

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the invalid domains and roles of the connections in `sso.connections`."""
        chosen = settings[SsoSettings]
        for name, one in chosen.connections.items():
            key = f"sso.connections.{name}"
            for domain in one.domains:
                try:
                    lazy_import("server.sso.domain_names").normalize(domain)
                except InvalidDomain as fault:
                    yield f"{key}.domains: {fault}"
            yield from _role_problems(settings, f"{key}.default_role", one.default_role)
            for role in one.group_roles.values():
                yield from _role_problems(settings, f"{key}.group_roles", role)

    async def start(self) -> None:
        """If SSO is enabled, store the connections of `sso.connections`; log the parts that have no effect."""
        if self._is_enabled:
            for problem in await self._core.run(configuration.apply):
                _log.error("sso.connection_not_applied", provider=problem.provider_id, reason=problem.what)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the jobs that check verified domains again, and look for certificates that expire soon."""
        if self._is_enabled:
            yield PeriodicJob("sso_domains", self._recheck, RECHECK_EVERY)
            yield PeriodicJob("sso_certificates", self._watch_certificates, RECHECK_EVERY)

    async def _recheck(self) -> None:
        await self._core.run(recheck.run)

    async def _watch_certificates(self) -> None:
        ending = await self._core.run(certificate_notices.run)
        if self._core.metrics is not None:
            self._core.metrics.ending_certificates.set(ending)


def _role_problems(settings: Settings, key: str, text: str) -> Iterator[str]:
    known = {roles.OWNER, roles.ADMIN, roles.MEMBER, *settings[OrganizationSettings].roles}
    for role in text.split(","):
        if role == roles.OWNER:
            yield f"{key}: must not be owner, because only an owner makes owners"
        elif role not in known:
            yield f"{key}: there is no role {role!r}; organizations.roles declares others"
