"""Convert connections to identity providers to the JSON of API responses, for operations and the command line."""

import json
from collections.abc import Mapping
from typing import Any, cast

from domain.context import Context
from domain.policy import Policy
from domain.sso import endpoints
from domain.sso.configuration import AttributeNames, OidcConfig, SamlConfig
from domain.sso.saml import MetadataRefused, SamlLibrary
from domain.sso_connections import domains, fields, operator
from domain.sso_connections.domains import Connection
from handlers import shapes, wire
from models.sso_connection import ConnectionRow, ConnectionType
from models.sso_domain import DomainRow

_SHOWN = 4
"""How many characters of a client id are shown, from its end."""


def provider_shape(ctx: Context, connection: Connection) -> shapes.SsoProvider:
    """Return a connection in the form of API responses, without its secrets."""
    row, own = connection
    shape = {
        "providerId": row.provider_id,
        "type": row.type,
        "issuer": row.issuer,
        "name": row.name,
        "state": row.state,
        "source": row.source,
        "organizationId": row.organization_id,
        "domain": ",".join(one.domain for one in own),
        "domainVerified": domains.are_verified(own),
        "domains": [_domain_shape(row, one) for one in own],
        "signUp": row.sign_up,
        "secondFactor": row.second_factor,
        "defaultRole": row.default_role,
        "groupRoles": json.loads(row.group_roles),
        "idpInitiated": row.idp_initiated,
        **_configs(ctx, row),
        "redirectURI": _redirect_uri(ctx.policy, row),
        "spMetadataUrl": endpoints.metadata_url(ctx.policy, row.provider_id),
        "lastUsedAt": wire.optional_instant(row.last_used_at),
        "createdAt": wire.instant(row.created_at),
        "updatedAt": wire.instant(row.updated_at),
    }
    return cast(shapes.SsoProvider, shape)


def _redirect_uri(policy: Policy, row: ConnectionRow) -> str:
    url_of = endpoints.callback_url if row.type == ConnectionType.OIDC else endpoints.acs_url
    return url_of(policy, row.provider_id)


def _configs(ctx: Context, row: ConnectionRow) -> Mapping[str, Any]:
    provider = operator.provider_of(ctx, row)
    config = None if provider is None else provider.config
    return {
        "oidcConfig": _oidc_shape(config) if isinstance(config, OidcConfig) else None,
        "samlConfig": _saml_shape(ctx, row, config) if isinstance(config, SamlConfig) else None,
    }


def _oidc_shape(config: OidcConfig) -> Mapping[str, Any]:
    client_id = config.client_id
    shown = client_id[-_SHOWN:] if len(client_id) > _SHOWN else ""
    return {
        "clientIdLastFour": f"****{shown}",
        "pkce": True,
        **_present({key: getattr(config, name) for key, name in fields.ENDPOINTS.items()}),
        "scopes": [*config.scopes],
        "tokenEndpointAuthentication": f"client_secret_{config.token_auth}",
        "overrideUserInfo": config.override_user_info,
        "mapping": _mapping(config.names),
    }


def _saml_shape(ctx: Context, row: ConnectionRow, config: SamlConfig) -> Mapping[str, Any]:
    return {
        "entryPoint": config.entry_point,
        "callbackUrl": endpoints.acs_url(ctx.policy, row.provider_id),
        "audience": config.audience or endpoints.metadata_url(ctx.policy, row.provider_id),
        "wantAssertionsSigned": True,
        "authnRequestsSigned": config.signs_requests,
        "overrideUserInfo": config.override_user_info,
        "certificate": [one for text in config.certificates for one in _certificates(ctx, text)],
        "mapping": _mapping(config.names),
        **_present(
            {
                "logoutUrl": config.logout_url,
                "identifierFormat": config.name_id_format,
                "spCertificate": config.certificate,
            }
        ),
    }


def _certificates(ctx: Context, text: str) -> list[Mapping[str, Any]]:
    try:
        facts = ctx.port[SamlLibrary]().certificate_facts(text)
    except MetadataRefused:  # Certificates in the configuration are not checked before.
        return []
    return [
        {
            "subject": facts.subject,
            "fingerprintSha256": facts.fingerprint,
            "notBefore": wire.instant(facts.not_before),
            "notAfter": wire.instant(facts.not_after),
        }
    ]


def _mapping(names: AttributeNames) -> Mapping[str, Any]:
    return _present({key: getattr(names, name) for key, name in fields.MAPPING.items()})


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _domain_shape(row: ConnectionRow, one: DomainRow) -> shapes.SsoDomain:
    return {
        "domain": one.domain,
        "verified": one.verified_at is not None,
        "required": one.required,
        "recordName": f"{domains.label(row.provider_id)}.{one.domain}",
        "verifiedAt": wire.optional_instant(one.verified_at),
        "missedAt": wire.optional_instant(one.missed_at),
    }
