"""Create the configuration of each identity provider from its settings and its preset."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from pydantic import SecretStr

from domain.identity_provider import ProviderTraits
from server.config.base import Settings
from server.config.groups.social import ProviderSettings
from server.identity_providers.presets import OAUTH_NAMES, OPENID_NAMES, PRESETS, Endpoints, Names, Preset

DISCOVERY = "/.well-known/openid-configuration"
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"),
    *("EdDSA", "Ed25519"),
)
"""Signature algorithms that need a private key: never `none`, never an HMAC (RFC 8725, 3.1 and 3.2)."""
DEFAULT_TENANT = "common"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The key that signs client secrets, for a provider whose client secret is a JWT (Apple)."""

    team_id: str
    key_id: str
    pem: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The complete configuration of one provider."""

    traits: ProviderTraits
    preset: Preset
    client_id: str
    secret: str | None = field(repr=False)
    signing_key: SigningKey | None = field(repr=False)
    token_auth: Literal["post", "basic"]
    issuers: tuple[str, ...]
    """The accepted issuers in the discovery document and in ID tokens; may be empty for OAuth 2.0."""
    discovery_url: str
    """The URL of the discovery document; empty for plain OAuth 2.0."""
    endpoints: Endpoints | None
    """The endpoints of plain OAuth 2.0; None for OpenID Connect, whose discovery document has them."""
    tenant: str
    pkce: bool
    algorithms: tuple[str, ...]
    names: Names
    extra_params: Mapping[str, str]
    loopback_http: bool
    """Whether endpoints on this machine may use http (development)."""


def configurations(settings: Settings) -> dict[str, Configuration]:
    """Return the configurations of all providers by id, sorted by id. The settings must be valid (`validation.py`)."""
    loopback = settings.profile == "development"
    return {
        id_: configuration(id_, table, loopback_http=loopback)
        for id_, table in sorted(settings.named(ProviderSettings).items())
    }


def configuration(id_: str, table: ProviderSettings, *, loopback_http: bool) -> Configuration:
    """Return the configuration of one provider: its table in the settings, completed by its preset."""
    preset = preset_of(table)
    return Configuration(
        traits=_habits(id_, table, preset),
        preset=preset,
        client_id=table.client_id or "",
        secret=secret_of(table.client_secret),
        signing_key=_signing_key(table) if preset.signs_secret else None,
        token_auth=table.token_auth,
        issuers=issuers_of(table, preset),
        discovery_url=discovery_url_of(table, preset),
        endpoints=_endpoints(table, preset),
        tenant=table.tenant or DEFAULT_TENANT,
        pkce=uses_pkce(table, preset),
        algorithms=table.allowed_algorithms or ALGORITHMS,
        names=_names(table, preset),
        extra_params=MappingProxyType({**preset.extra_params, **table.extra_params}),
        loopback_http=loopback_http,
    )


def preset_of(table: ProviderSettings) -> Preset:
    """Return the preset that the table names, or the default preset of OpenID Connect or OAuth 2.0."""
    if table.preset is not None:
        return PRESETS[table.preset]
    if table.discovery_url is None and (table.authorization_endpoint or table.token_endpoint):
        return Preset(scopes=(), endpoints=Endpoints("", "", ""))
    return Preset()


def issuers_of(table: ProviderSettings, preset: Preset) -> tuple[str, ...]:
    """Return the accepted spellings of the issuer; none if neither the settings nor the preset determine it."""
    if table.issuer is not None:
        return (table.issuer,)
    if table.discovery_url is not None:
        base = table.discovery_url.removesuffix(DISCOVERY)
        # Discovery leaves out the slash that an issuer may end with (OpenID Connect Discovery 4).
        return (base, f"{base}/") if base != table.discovery_url else ()
    issuer = preset.issuer.replace("{tenant}", table.tenant or DEFAULT_TENANT)
    return (issuer, *preset.aliases) if issuer else ()


def discovery_url_of(table: ProviderSettings, preset: Preset) -> str:
    """Return the URL of the discovery document; empty for plain OAuth 2.0, or if the issuer is unknown."""
    if not preset.is_openid:
        return ""
    if table.discovery_url is not None:
        return table.discovery_url
    issuers = issuers_of(table, preset)
    return issuers[0].rstrip("/") + DISCOVERY if issuers else ""


def uses_pkce(table: ProviderSettings, preset: Preset) -> bool:
    """Return whether the authorization code is protected by PKCE (RFC 7636)."""
    return preset.pkce if table.pkce is None else table.pkce


def secret_of(secret: SecretStr | None) -> str | None:
    """Return a secret in plain text, or None if it is missing or empty."""
    return (secret.get_secret_value() or None) if secret is not None else None


def stored_issuers(settings: Settings) -> Mapping[str, str | None]:
    """Return, by provider id, the issuer with which the identities of each provider are stored.

    The issuer is empty for plain OAuth 2.0, and None if the settings do not determine it.
    """
    return {id_: _stored_issuer(provider) for id_, provider in configurations(settings).items()}


def _habits(id_: str, table: ProviderSettings, preset: Preset) -> ProviderTraits:
    return ProviderTraits(
        id=id_,
        scopes=preset.scopes if table.scopes is None else table.scopes,
        is_openid=preset.is_openid,
        takes_id_tokens=preset.is_openid and table.id_token_sign_in is not False,
        refreshes=preset.refreshes,
        disable_sign_up=table.disable_sign_up,
        disable_implicit_sign_up=table.disable_implicit_sign_up,
        require_verified_email=table.require_verified_email,
        sync_profile=table.sync_profile,
    )


def _endpoints(table: ProviderSettings, preset: Preset) -> Endpoints | None:
    if preset.endpoints is None:
        return None
    return Endpoints(
        table.authorization_endpoint or preset.endpoints.authorization,
        table.token_endpoint or preset.endpoints.token,
        table.userinfo_endpoint or preset.endpoints.userinfo,
    )


def _names(table: ProviderSettings, preset: Preset) -> Names:
    usual = OPENID_NAMES if preset.is_openid else OAUTH_NAMES
    own = {meaning: (name,) for meaning, name in table.claims.items()}
    return MappingProxyType({**usual, **preset.names, **own})


def _signing_key(table: ProviderSettings) -> SigningKey:
    return SigningKey(table.team_id or "", table.key_id or "", secret_of(table.private_key) or "")


def _stored_issuer(provider: Configuration) -> str | None:
    if not provider.traits.is_openid:
        return ""
    if provider.preset.tenanted and not _is_tenant(provider.tenant):
        return None  # Each user's tenant is part of the issuer, and no other program keeps it.
    own = [issuer for issuer in provider.issuers if issuer not in provider.preset.aliases]
    return own[0] if len(own) == 1 else None


def _is_tenant(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
