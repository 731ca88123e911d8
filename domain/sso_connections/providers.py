"""The part of a connection that describes its provider: the fields `issuer`, `oidcConfig` and `samlConfig`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from domain.context import Context
from domain.outbound import OutboundError, OutboundGuard
from domain.sso.configuration import AttributeNames, ClientAuthentication, Config, OidcConfig, SamlConfig
from domain.sso.discovery import DiscoveryError, ProviderDiscovery, document_url
from domain.sso.saml import MetadataRefused, SamlLibrary
from domain.sso_connections import fields
from domain.sso_connections.errors import DiscoveryFailed, InvalidProviderUrl

REDIRECT_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"

_OIDC = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    **fields.ENDPOINTS,
    "overrideUserInfo": "override_user_info",
}
_SAML = {
    "entryPoint": "entry_point",
    "audience": "audience",
    "identifierFormat": "name_id_format",
    "authnRequestsSigned": "signs_requests",
    "overrideUserInfo": "override_user_info",
}
_AUTHENTICATION: Mapping[str, ClientAuthentication] = {
    "client_secret_basic": "basic",
    "client_secret_post": "post",
}
_CALLED = ("discoveryEndpoint", "tokenEndpoint", "userInfoEndpoint", "jwksEndpoint")
"""The URLs that the service itself sends requests to."""
_OPENED = ("authorizationEndpoint", "endSessionEndpoint")
"""The URLs that browsers are sent to."""
_PAGE = re.compile(
    r"(?:https://[A-Za-z0-9\[]|http://(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/?]|$))[!#-;=?-\[\]_a-z~]*",
    re.ASCII,
)
"""An https URL, or one of this machine for development, without characters that need quotes."""
_WITHOUT_DISCOVERY = ("authorizationEndpoint", "tokenEndpoint", "jwksEndpoint")
_SECRET_TARGETS = ("discovery_url", "token_endpoint")
"""The parts of a configuration that decide where the client secret is sent, in addition to the issuer."""
_IDENTIFYING = {
    OidcConfig: (
        *("client_id", "discovery_url", "authorization_endpoint"),
        *("token_endpoint", "userinfo_endpoint", "jwks_uri"),
    ),
    SamlConfig: ("entry_point",),
}
"""The parts of a configuration that decide who the users are, in addition to the issuer."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The issuer and the configuration of a connection."""

    issuer: str
    config: Config

    def is_same(self, other: "Provider | None") -> bool:
        """Return whether issuer, client and endpoints are the same, so that subjects mean the same users."""
        if other is None or type(self.config) is not type(other.config):
            return False
        names = _IDENTIFYING[type(self.config)]
        return self.issuer == other.issuer and all(
            getattr(self.config, name) == getattr(other.config, name) for name in names
        )


async def read(ctx: Context, sent: Mapping[str, Any], known: Provider | None) -> Provider:
    """Return the provider that a request describes; missing fields keep the values of `known`, the stored one.

    `known` is None for a new connection. The function sends requests to the provider, so call it before the transaction
    begins. Raises ValidationError, InvalidProviderUrl, DiscoveryFailed.
    """
    oidc, saml = sent.get("oidcConfig"), sent.get("samlConfig")
    if oidc is not None and saml is not None:
        fields.refuse("samlConfig", "must not be given together with oidcConfig")
    override = {name: sent[name] for name in ("overrideUserInfo",) if name in sent}
    is_oidc = oidc is not None or (
        saml is None and known is not None and isinstance(known.config, OidcConfig)
    )
    if oidc is None and saml is None and known is None:
        refuse_missing()
    if is_oidc:
        issuer, config = _read_oidc(sent.get("issuer"), {**override, **(oidc or {})}, known)
        _check_secret(ctx, Provider(issuer, config), oidc or {}, known)
        return Provider(issuer, await _checked(ctx, issuer, config, oidc or {}, known))
    document = await _metadata_document(ctx, (saml or {}).get("idpMetadata") or {})
    return _read_saml(ctx, sent.get("issuer"), {**override, **(saml or {})}, known, document)


def refuse_missing() -> NoReturn:
    """Raise ValidationError because the request describes no provider."""
    fields.refuse("oidcConfig", "is required, or samlConfig")


def _read_oidc(issuer: str | None, sent: Mapping[str, Any], known: Provider | None) -> tuple[str, OidcConfig]:
    """Return the issuer and the configuration of an OpenID provider, unchecked."""
    old = known.config if known is not None and isinstance(known.config, OidcConfig) else None
    issuer = issuer or (known.issuer if known is not None and old is not None else None)
    if issuer is None:
        fields.refuse("issuer", "is required")
    values: dict[str, Any] = {column: sent[name] for name, column in _OIDC.items() if name in sent}
    if "scopes" in sent:
        values["scopes"] = tuple(dict.fromkeys(["openid", *sent["scopes"]]))
    if "tokenEndpointAuthentication" in sent:
        values["token_auth"] = _AUTHENTICATION[sent["tokenEndpointAuthentication"]]
    if "mapping" in sent:
        values["names"] = _names(sent["mapping"])
    if old is None:
        for name in ("clientId", "clientSecret"):
            if not sent.get(name):
                fields.refuse(f"oidcConfig.{name}", "is required")
        config = OidcConfig(**values)
    else:
        config = replace(old, **values)
    if sent.get("skipDiscovery"):
        for name in _WITHOUT_DISCOVERY:
            if getattr(config, _OIDC[name]) is None:
                fields.refuse(f"oidcConfig.{name}", "is required with skipDiscovery")
        return issuer, replace(config, discovery_url=None)
    has_moved = known is not None and issuer != known.issuer and "discovery_url" not in values
    if (config.discovery_url is None and old is None) or (has_moved and config.discovery_url is not None):
        config = replace(config, discovery_url=document_url(issuer))
    return issuer, config


def _check_secret(ctx: Context, provider: Provider, sent: Mapping[str, Any], known: Provider | None) -> None:
    """Check that a caller who lets the client secret be sent elsewhere knows it. Raises ValidationError."""
    if ctx.caller is None or known is None or "clientSecret" in sent:
        return
    is_elsewhere = provider.issuer != known.issuer or any(
        getattr(provider.config, name) != getattr(known.config, name, None) for name in _SECRET_TARGETS
    )
    if is_elsewhere:
        fields.refuse(
            "oidcConfig.clientSecret",
            "is required if the issuer, discoveryEndpoint or tokenEndpoint changes",
        )


async def _checked(
    ctx: Context, issuer: str, config: OidcConfig, sent: Mapping[str, Any], known: Provider | None
) -> OidcConfig:
    """Check the URLs of an OpenID provider that are new, and its discovery document; return its configuration."""
    old = known.config if known is not None else None
    for name in _CALLED:
        url = getattr(config, _OIDC[name])
        if url is not None and url != getattr(old, _OIDC[name], None):
            await _check_called(ctx, f"oidcConfig.{name}", url)
    for name in _OPENED:
        _check_opened(f"oidcConfig.{name}", getattr(config, _OIDC[name]))
    is_same = Provider(issuer, config).is_same(known)
    if config.discovery_url is None or (is_same and sent.get("discoveryEndpoint") is None):
        return config
    try:
        found = await ctx.port[ProviderDiscovery].discover(issuer, config.discovery_url)
    except DiscoveryError as fault:
        message = f"{DiscoveryFailed.message}: {fault.reason}"
        raise DiscoveryFailed(message, reason=fault.reason.value) from None
    if "tokenEndpointAuthentication" in sent:
        return config
    return replace(config, token_auth=found.token_auth)


async def _check_called(ctx: Context, name: str, url: str) -> None:
    """Check a URL that the service sends requests to, and the addresses of its host. Raises InvalidProviderUrl."""
    try:
        await ctx.port[OutboundGuard].check(url)  # defence: SSO14 provider-url
    except OutboundError as error:
        problem = str(error).removesuffix(".")
        raise InvalidProviderUrl(f"{InvalidProviderUrl.message}: {name}: {problem}") from None


def _check_opened(name: str, url: str | None) -> None:
    """Check the form of a URL that browsers are sent to; its host may be in a network of the organization."""
    if url is not None and _PAGE.fullmatch(url) is None:
        raise InvalidProviderUrl(f"{InvalidProviderUrl.message}: {name}: The URL must begin with https://")


async def _metadata_document(ctx: Context, sent: Mapping[str, Any]) -> bytes | None:
    """Return the metadata document of a request: its text, or what is at its URL. None if it has neither."""
    url, text = sent.get("metadataUrl"), sent.get("metadata")
    if url is None:
        return None if text is None else text.encode()
    if text is not None:
        fields.refuse("samlConfig.idpMetadata.metadataUrl", "must not be given together with metadata")
    await _check_called(ctx, "samlConfig.idpMetadata.metadataUrl", url)
    try:
        return await ctx.port[ProviderDiscovery].fetch_metadata(url)
    except DiscoveryError as fault:
        message = f"The metadata of the provider cannot be fetched: {fault.reason}"
        raise DiscoveryFailed(message, reason=fault.reason.value) from None


def _read_saml(
    ctx: Context,
    issuer: str | None,
    sent: Mapping[str, Any],
    known: Provider | None,
    document: bytes | None,
) -> Provider:
    old = known.config if known is not None and isinstance(known.config, SamlConfig) else None
    values: dict[str, Any] = {column: sent[name] for name, column in _SAML.items() if name in sent}
    metadata = sent.get("idpMetadata") or {}
    if document is not None:
        name = "metadataUrl" if "metadataUrl" in metadata else "metadata"
        issuer, found = _metadata(ctx, f"samlConfig.idpMetadata.{name}", document)
        values = {**found, **values}
    issuer = metadata.get("entityID") or issuer or (known.issuer if known is not None and old else None)
    if issuer is None:
        fields.refuse("issuer", "is required")
    written = metadata.get("cert", sent.get("cert"))
    if written is not None:
        texts = [written] if isinstance(written, str) else written
        values["certificates"] = tuple(_certificate(ctx, text) for text in texts)
    for name, column in (("singleSignOnService", "entry_point"), ("singleLogoutService", "logout_url")):
        for service in metadata.get(name, ()):
            if service["Binding"] == REDIRECT_BINDING:
                values.setdefault(column, service["Location"])
    # A new URL without one for responses must not keep that of the former URL.
    if "logout_url" in values:
        values.setdefault("logout_response_url", None)
    if "mapping" in sent:
        values["names"] = _names(sent["mapping"])
    if old is None:
        for name, column in (("entryPoint", "entry_point"), ("cert", "certificates")):
            if not values.get(column):
                fields.refuse(f"samlConfig.{name}", "is required, or idpMetadata")
    config = SamlConfig(**values) if old is None else replace(old, **values)
    _check_opened("samlConfig.entryPoint", config.entry_point)
    for url in (config.logout_url, config.logout_response_url):
        _check_opened("samlConfig.idpMetadata.singleLogoutService", url)
    return Provider(issuer, config)


def _metadata(ctx: Context, name: str, document: bytes) -> tuple[str, dict[str, Any]]:
    """Return the entity id and the columns that a metadata document contains; `name` is its field."""
    try:
        found = ctx.port[SamlLibrary]().read_metadata(document, ctx.now)
    except MetadataRefused as fault:
        fields.refuse(name, str(fault))
    values: dict[str, Any] = {
        "entry_point": found.sign_in_url,
        "certificates": tuple(one.pem for one in found.certificates),
    }
    if found.logout_url is not None:
        values["logout_url"] = found.logout_url
        values["logout_response_url"] = found.logout_response_url
    if found.wants_signed_requests:
        values["signs_requests"] = True
    return found.entity_id, values


def _certificate(ctx: Context, text: str) -> str:
    try:
        return ctx.port[SamlLibrary]().certificate_facts(text).pem
    except MetadataRefused as fault:
        fields.refuse("samlConfig.cert", str(fault))


def _names(sent: Mapping[str, Any]) -> AttributeNames:
    return AttributeNames(**{name: sent[key] for key, name in fields.MAPPING.items() if sent.get(key)})
