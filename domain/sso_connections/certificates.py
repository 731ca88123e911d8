"""The certificates of the identity provider of a SAML connection."""

from collections.abc import Sequence
from datetime import timedelta

from domain.context import Context
from domain.sso.configuration import SamlConfig, config_of
from domain.sso.saml import CertificateFacts, MetadataRefused, SamlLibrary
from models.sso_connection import ConnectionRow

WARNING = timedelta(days=30)
"""How long before its expiry a certificate is reported."""


def facts_of(ctx: Context, row: ConnectionRow) -> Sequence[CertificateFacts]:
    """Return the pinned certificates of a SAML connection; none for OpenID Connect or an unreadable configuration."""
    config, found = config_of(ctx.cipher, row), []
    for text in config.certificates if isinstance(config, SamlConfig) else ():
        try:
            found.append(ctx.port[SamlLibrary]().certificate_facts(text))
        except MetadataRefused:  # Certificates in the configuration of the service are not checked before.
            continue
    return found
