"""Check the settings of identity providers before the service starts."""

from collections.abc import Iterator

from models.discovery import lazy_import
from server.config.base import Settings
from server.config.groups.accounts import AccountLinkingSettings
from server.config.groups.social import ProviderSettings
from server.config.value_types import is_http
from server.identity_providers.configuration import (
    ALGORITHMS,
    discovery_url_of,
    issuers_of,
    preset_of,
    secret_of,
    uses_pkce,
)
from server.identity_providers.presets import OPENID_NAMES, PRESETS, Preset
from server.identity_providers.urls import is_loopback

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint")
_ADDRESSES = ("issuer", "discovery_url", *_ENDPOINTS)
_RESERVED = (
    *("response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "login_hint"),
    *("code_challenge", "code_challenge_method", "request", "request_uri"),
)
"""Parameters of the authorization URL that the service sets itself."""


def check(settings: Settings) -> Iterator[str]:
    """Yield one line for each invalid setting of an identity provider, beginning with the key of the setting."""
    for id_, table in settings.named(ProviderSettings).items():
        key = f"providers.{id_}"
        if id_ == "credential":
            yield f"{key}: is the name of the password account"
        for name, url in _addresses(table):
            if is_http(url) and (settings.profile == "production" or not is_loopback(url)):
                yield f"{key}.{name}: must be https"
        yield from (f"{key}{problem}" for problem in _of_table(table))
    for id_ in settings[AccountLinkingSettings].trusted_providers:
        if id_ not in settings.named(ProviderSettings):
            yield f"account_linking.trusted_providers: there is no provider {id_!r}"


def _addresses(table: ProviderSettings) -> Iterator[tuple[str, str]]:
    for name in _ADDRESSES:
        if url := getattr(table, name):
            yield name, url


def _of_table(table: ProviderSettings) -> Iterator[str]:
    """Yield the problems of one provider; each line begins with the part of the key after the provider's id."""
    if table.client_id is None:
        yield ".client_id: must be given"
    if table.preset is not None and table.preset not in PRESETS:
        yield f".preset: is none of {', '.join(PRESETS)}"
        return
    preset = preset_of(table)
    yield from _place(table, preset)
    yield from _secrets(table, preset)
    yield from _details(table, preset)


def _place(table: ProviderSettings, preset: Preset) -> Iterator[str]:
    """Yield the problems of issuer, discovery URL and endpoints."""
    given = [name for name in _ENDPOINTS if getattr(table, name)]
    if preset.is_openid:
        if given:
            yield f".{given[0]}: comes from discovery, which this provider uses"
        if not discovery_url_of(table, preset):
            yield ".discovery_url: must be given, or a preset, or all of " + ", ".join(_ENDPOINTS)
        elif not issuers_of(table, preset):
            yield ".issuer: must be given, for the discovery_url does not end as discovery has it"
        return
    if table.discovery_url is not None:
        yield ".discovery_url: the preset is of a provider without discovery"
    if table.preset is None:
        yield from (f".{name}: must be given" for name in _ENDPOINTS if name not in given)


def _secrets(table: ProviderSettings, preset: Preset) -> Iterator[str]:
    if preset.signs_secret:
        for name in ("team_id", "key_id"):
            if getattr(table, name) is None:
                yield f".{name}: must be given, the client secret is made from it"
        key = secret_of(table.private_key)
        if key is None or not lazy_import("server.crypto.pem").is_p256(key):
            yield ".private_key: must be the PEM of a P-256 key, the client secret is made from it"
        return
    is_public = table.preset is None and table.token_auth == "post" and uses_pkce(table, preset)  # noqa: S105 - the name of a method
    if secret_of(table.client_secret) is None and not is_public:
        yield ".client_secret: must be given"


def _details(table: ProviderSettings, preset: Preset) -> Iterator[str]:
    if table.tenant is not None and not preset.tenanted:
        yield ".tenant: only the preset microsoft has tenants"
    if table.allowed_algorithms is not None:
        wrong = [name for name in table.allowed_algorithms if name not in ALGORITHMS]
        if wrong or not table.allowed_algorithms:
            yield f".allowed_algorithms: may hold {', '.join(ALGORITHMS)}"
    if unknown := sorted(set(table.claims) - set(OPENID_NAMES)):
        yield f".claims: {unknown[0]!r} is none of {', '.join(OPENID_NAMES)}"
    if reserved := sorted(set(_RESERVED) & set(table.extra_params)):
        yield f".extra_params: {reserved[0]} is set by the service"
