"""The service provider (this service) and the identity provider of a SAML connection, from its configuration."""

from typing import NamedTuple

from domain.context import Context
from domain.social.errors import ProviderNotFound
from domain.sso import endpoints
from domain.sso.configuration import SamlConfig, config_of
from domain.sso.saml import (
    KeyCertificate,
    SamlIdentityProvider,
    SamlLibrary,
    SamlMessages,
    SamlServiceProvider,
)
from models.sso_connection import ConnectionRow


class Peers(NamedTuple):
    """The two parties of a SAML connection, and the library that writes and verifies their messages."""

    messages: SamlMessages
    own: SamlServiceProvider
    provider: SamlIdentityProvider
    config: SamlConfig


def peers_of(ctx: Context, row: ConnectionRow) -> Peers:
    """Return the two parties of a SAML connection.

    Raises ProviderNotFound for an OpenID connection, or if the configuration cannot be read.
    """
    config = config_of(ctx.cipher, row)
    if not isinstance(config, SamlConfig):
        raise ProviderNotFound
    provider = SamlIdentityProvider(
        row.issuer, config.entry_point, config.certificates, config.logout_url, config.logout_response_url
    )
    return Peers(ctx.port[SamlLibrary](), _service_provider(ctx, row.provider_id, config), provider, config)


def _service_provider(ctx: Context, provider_id: str, config: SamlConfig) -> SamlServiceProvider:
    """Return this service as a connection presents it."""
    key, certificate = config.private_key, config.certificate
    return SamlServiceProvider(
        entity_id=config.audience or endpoints.metadata_url(ctx.policy, provider_id),
        acs_url=endpoints.acs_url(ctx.policy, provider_id),
        logout_url=endpoints.logout_url(ctx.policy, provider_id),
        keys=() if key is None or certificate is None else (KeyCertificate(key, certificate),),
    )
