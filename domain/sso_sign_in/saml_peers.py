"""The two ends of a SAML connection: this service, and the identity provider, as the connection knows them."""

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
    """What messages of a connection are written and read with."""

    messages: SamlMessages
    own: SamlServiceProvider
    provider: SamlIdentityProvider
    config: SamlConfig


def peers_of(ctx: Context, row: ConnectionRow) -> Peers:
    """Return the two ends of a connection. Raises ProviderNotFound for OpenID Connect, or if it cannot be read."""
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
