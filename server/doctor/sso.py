"""Checks of connections for single sign-on: unreadable configurations, certificates that expire, and domains."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from domain.sso import configuration
from domain.sso.configuration import SamlConfig
from domain.sso.saml import CertificateFacts, MetadataRefused
from domain.sso_connections.certificates import WARNING
from models.discovery import lazy_import
from server.config.base import Settings
from server.config.groups.sso import SsoSettings
from server.crypto.keyring import Keyring
from server.doctor.findings import Finding, warning, wrong

CONNECTIONS = "SELECT provider_id, type, config FROM sso_connection ORDER BY provider_id"
DOMAINS = """
SELECT sso_connection.provider_id, sso_domain.domain, sso_domain.verified_at IS NOT NULL
FROM sso_domain JOIN sso_connection ON sso_connection.id = sso_domain.connection_id
WHERE (sso_domain.verified_at IS NULL OR sso_domain.missed_at IS NOT NULL) AND sso_connection.state = 'active'
ORDER BY sso_connection.provider_id, sso_domain.domain
"""
QUERIES = (CONNECTIONS, DOMAINS)

_CHECK = "single sign-on"

Rows = Iterable[Sequence[Any]]


def findings(chosen: Settings, now: datetime, connections: Rows, domains: Rows) -> Iterator[Finding]:
    """Yield the findings about connections and their domains, if single sign-on is on."""
    if not chosen[SsoSettings].enabled:
        return
    cipher = Keyring([secret.get_secret_value() for secret in chosen.secrets])
    missing = {*chosen[SsoSettings].connections}
    for provider_id, kind, stored in connections:
        missing.discard(provider_id)
        config = configuration.decrypt_config(cipher, kind, bytes(stored))
        if config is None:
            fix = (
                "restore the secret with which it was encrypted, or set its issuer and provider again with "
                f"gatewright sso update {provider_id}"
            )
            yield wrong(_CHECK, f"the configuration of the connection {provider_id} cannot be read", fix)
        elif isinstance(config, SamlConfig):
            yield from _certificates(provider_id, config, now)
    for name in sorted(missing):
        found = f"the connection {name} of the configuration is not in the database"
        yield warning(_CHECK, found, "start the service; its log says why if it stays out")
    for provider_id, domain, is_verified in domains:
        state = (
            "its TXT record is missing" if is_verified else "it is not verified, so its users cannot sign in"
        )
        fix = f"see gatewright sso show {provider_id} for the record"
        yield warning(_CHECK, f"{domain} of the connection {provider_id}: {state}", fix)


def _certificates(provider_id: str, config: SamlConfig, now: datetime) -> Iterator[Finding]:
    certificates = lazy_import("server.crypto.certificates")
    for text in config.certificates:
        try:
            facts: CertificateFacts = certificates.facts(text)
        except MetadataRefused as fault:
            found = f"a certificate of the connection {provider_id} cannot be used"
            yield wrong(_CHECK, found, f"replace it; {fault}")
            continue
        end = facts.not_after
        if end < now + WARNING:
            what = "ended" if end <= now else "ends"
            found = (
                f"the certificate {facts.subject} of the connection {provider_id} {what} on {end:%Y-%m-%d}"
            )
            fix = f"gatewright sso update {provider_id} --metadata FILE, with the provider's next certificate"
            yield warning(_CHECK, found, fix)
