"""The settings of single sign-on for organizations, and the connections from the configuration."""

import json
import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from domain.sso.configuration import (
    BASIC,
    PROVIDER_ID,
    AttributeNames,
    ClientAuthentication,
    Config,
    OidcConfig,
    SamlConfig,
)
from domain.sso.discovery import document_url
from domain.sso.policy import SsoPolicy
from domain.sso_connections.policy import ConfiguredConnection, SsoConnectionPolicy
from domain.sso_enforcement.policy import SsoEnforcementPolicy
from server.config.base import Group, Settings, fill
from server.config.value_types import (
    Duration,
    Items,
    OptionalPath,
    OptionalText,
    OptionalUrl,
    duration_between,
    read_secret,
    setting,
)

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII)

Texts = Annotated[tuple[str, ...], Items]


class SsoNames(Group):
    """`sso.connections.<providerId>.names.*`: the names of claims or attributes at the provider."""

    id: OptionalText = setting(None, "The subject; by default `sub`, or the NameID.")
    email: OptionalText = setting(None, "The email address.")
    name: OptionalText = setting(None, "The name.")
    first_name: OptionalText = setting(None, "The first name, used if the provider sends no name.")
    last_name: OptionalText = setting(None, "The last name, used if the provider sends no name.")
    image: OptionalText = setting(None, "The URL of a picture.")
    groups: OptionalText = setting(None, "The groups.")


class SsoOidc(Group):
    """`sso.connections.<providerId>.oidc.*`: an OpenID provider."""

    client_id: str = Field(min_length=1, max_length=512, description="Client id at the provider.")
    client_secret: SecretStr | None = setting(None, "Client secret.")
    client_secret_file: OptionalPath = setting(
        None, "File with the client secret, instead of `client_secret`."
    )
    discovery_url: OptionalUrl = setting(
        None, "URL of the discovery document; by default that of the issuer, unless the endpoints are set."
    )
    authorization_endpoint: OptionalUrl = setting(
        None, "URL that is used instead of the one in the discovery document."
    )
    token_endpoint: OptionalUrl = setting(
        None, "URL that is used instead of the one in the discovery document."
    )
    userinfo_endpoint: OptionalUrl = setting(
        None, "URL that is used instead of the one in the discovery document."
    )
    jwks_uri: OptionalUrl = setting(None, "URL that is used instead of the one in the discovery document.")
    end_session_endpoint: OptionalUrl = setting(
        None, "URL that is used instead of the one in the discovery document."
    )
    token_auth: ClientAuthentication = setting(BASIC, "How the client secret is sent.")
    scopes: Texts = setting(("openid", "email", "profile"), "Requested scopes.")


class SsoSaml(Group):
    """`sso.connections.<providerId>.saml.*`: a SAML identity provider."""

    entry_point: str = Field(
        description="URL of the single sign-on service of the identity provider (redirect binding)."
    )
    certificates: Texts = setting((), "Certificates with which the identity provider signs, in PEM.")
    certificate_file: OptionalPath = setting(
        None, "File with further certificates in PEM, one after the other."
    )
    logout_url: OptionalUrl = setting(
        None, "URL of the single logout service of the identity provider (redirect binding)."
    )
    audience: OptionalText = setting(None, "Entity id of this service; by default the URL of its metadata.")
    name_id_format: OptionalText = setting(None, "Requested format of name identifiers.")
    signs_requests: bool = setting(False, "Whether this service signs its requests.")


class SsoConnectionSettings(Group):
    """`sso.connections.<providerId>.*`: a connection from the configuration, which is read-only elsewhere."""

    issuer: str = Field(
        min_length=1,
        max_length=1024,
        description="Issuer of the OpenID provider, or entity id of the SAML identity provider.",
    )
    domains: Texts = Field(
        min_length=1,
        max_length=100,
        description="Email domains of the connection, which count as verified without a DNS record.",
    )
    required_domains: Texts = setting((), "Domains whose users must sign in through the connection.")
    organization: OptionalText = setting(
        None, "Id or slug of the organization whose members sign in; by default the whole service."
    )
    name: OptionalText = setting(None, "Name on the button of the sign-in page; by default the provider id.")
    state: Literal["draft", "active", "paused"] = setting(
        "active", "Whether users can sign in through the connection: only in the state `active`."
    )
    sign_up: bool = setting(True, "Whether a sign-in creates a user if none is known.")
    second_factor: Literal["provider", "local"] = setting(
        "provider",
        "`provider`: the provider is trusted to have checked a second factor. `local`: users with a second "
        "factor here are also asked for it.",
    )
    default_role: str = setting("member", "Roles of new members of the organization, separated by commas.")
    group_roles: dict[str, str] = setting(
        {}, "Roles in the organization by the name of a group at the provider."
    )
    idp_initiated: bool = setting(
        False, "Whether SAML responses that no sign-in here has requested are accepted."
    )
    override_user_info: bool = setting(
        False, "Whether every sign-in overwrites name and picture with those of the provider."
    )
    oidc: SsoOidc | None = setting(None, "The OpenID provider.")
    saml: SsoSaml | None = setting(None, "The SAML identity provider, instead of `oidc`.")
    names: SsoNames = SsoNames()


class SsoSettings(Group):
    """`sso.*`: sign-in through identity providers of organizations, by OpenID Connect and SAML 2.0."""

    key = "sso"

    enabled: bool = setting(False, "Whether the operations and pages of single sign-on exist.")
    management: Literal["operators", "organizations"] = setting(
        "operators",
        "Who may create connections: only operators, by console, command line and configuration (`operators`), "
        "or also members of organizations with the permission `sso: manage`, by default owners "
        "(`organizations`).",
    )
    clock_skew: Duration = duration_between(
        "60s",
        "Largest tolerated difference between the clocks of this service and a provider.",
        at_least="0s",
        at_most="5m",
    )
    request_expires_in: Duration = duration_between(
        "10m", "How long a user may take to sign in at the provider.", at_least="1m", at_most="1h"
    )
    max_response: int = setting(262144, "Largest encoded SAML response, in bytes.", ge=16384, le=1048576)
    idp_initiated: bool = setting(
        False, "Whether connections may be set to accept SAML responses that no sign-in here has requested."
    )
    limit_per_organization: int = setting(
        10,
        "Largest number of connections of one organization. Operations refuse to create more; command line and "
        "configuration do not.",
        ge=1,
        le=1000,
    )
    resolvers: Texts = setting(
        (),
        "IP addresses of the name servers that are asked for the TXT records of domains, each with or "
        "without a port; by default those of the operating system. Only the first two are asked.",
        max_length=10,
    )
    connections: dict[str, SsoConnectionSettings] = setting(
        {}, "Connections by provider id, each with issuer, domains, and `oidc` or `saml`."
    )
    domain_recheck: Duration = duration_between(
        "7d",
        "How often the TXT record of a verified domain is looked up again.",
        at_least="1h",
        at_most="90d",
    )
    domain_grace: Duration = duration_between(
        "14d",
        "How long the TXT record of a verified domain may be missing before the domain counts as unverified.",
        at_least="1h",
        at_most="90d",
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the limits of the protocols, who manages connections, and those from the configuration."""
        configured = {
            name: _connection(name, one, config)
            for name, one in self.connections.items()
            for config in _configs(one)
        }
        return [
            fill(SsoPolicy, self),
            fill(SsoConnectionPolicy, self, configured=configured),
            SsoEnforcementPolicy(self.enabled),
        ]

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield malformed addresses of name servers, and connections that cannot be used."""
        for text in self.resolvers:
            try:
                name_server(text)
            except ValueError:
                yield f"sso.resolvers: {text!r} is not an address such as 192.0.2.53 or [2001:db8::53]:53"
        for name, one in self.connections.items():
            key = f"sso.connections.{name}"
            if not PROVIDER_ID.fullmatch(name):
                yield f"{key}: a provider id has 1 to 40 lower-case letters, digits and -"
            yield from _problems(key, one)


def name_server(text: str) -> tuple[str, int]:
    """Return the address and the port of a name server, by default 53. Raises ValueError."""
    address, port = text, "53"
    if text.startswith("["):
        address, end, rest = text[1:].partition("]")
        if not end:
            raise ValueError("the address has no ] at its end")
        port = rest.removeprefix(":") or "53"
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    if not 0 < int(port) < 65536:
        raise ValueError("a port is a number from 1 to 65535")
    return str(ip_address(address)), int(port)


def _problems(key: str, one: SsoConnectionSettings) -> Iterator[str]:
    if (one.oidc is None) == (one.saml is None):
        yield f"{key}: needs either oidc or saml"
        return
    for domain in set(one.required_domains) - set(one.domains):
        yield f"{key}.required_domains: {domain} is not among its domains"
    if one.oidc is not None:
        if (one.oidc.client_secret is None) == (one.oidc.client_secret_file is None):
            yield f"{key}.oidc: needs either client_secret or client_secret_file"
            return
        try:
            read_secret(one.oidc.client_secret, one.oidc.client_secret_file)
        except (OSError, UnicodeDecodeError):
            yield f"{key}.oidc.client_secret_file: cannot be read"
    if one.saml is not None:
        try:
            if not _certificates(one.saml):
                yield f"{key}.saml: needs certificates or certificate_file"
        except (OSError, UnicodeDecodeError):
            yield f"{key}.saml.certificate_file: cannot be read"


def _connection(provider_id: str, one: SsoConnectionSettings, config: Config) -> ConfiguredConnection:
    return ConfiguredConnection(
        issuer=one.issuer,
        config=config,
        domains=one.domains,
        required_domains=one.required_domains,
        organization=one.organization,
        columns={
            "name": one.name or provider_id,
            "state": one.state,
            "sign_up": one.sign_up,
            "second_factor": one.second_factor,
            "default_role": one.default_role,
            "group_roles": json.dumps(one.group_roles, ensure_ascii=False, sort_keys=True),
            "idp_initiated": one.idp_initiated,
        },
    )


def _configs(one: SsoConnectionSettings) -> Iterator[Config]:
    """Yield the configuration of the provider; a connection without problems has exactly one."""
    names = AttributeNames(**one.names.model_dump())
    if one.saml is not None:
        yield SamlConfig(
            **one.saml.model_dump(exclude={"certificates", "certificate_file"}),
            certificates=_certificates(one.saml),
            names=names,
            override_user_info=one.override_user_info,
        )
    if one.oidc is not None:
        chosen = one.oidc.model_dump(exclude={"client_secret", "client_secret_file", "discovery_url"})
        has_endpoints = one.oidc.authorization_endpoint and one.oidc.token_endpoint and one.oidc.jwks_uri
        discovery_url = one.oidc.discovery_url or (None if has_endpoints else document_url(one.issuer))
        yield OidcConfig(
            **chosen,
            client_secret=read_secret(one.oidc.client_secret, one.oidc.client_secret_file),
            discovery_url=discovery_url,
            names=names,
            override_user_info=one.override_user_info,
        )


def _certificates(one: SsoSaml) -> tuple[str, ...]:
    """Return the certificates in PEM. Raises OSError and UnicodeDecodeError for a file that cannot be read."""
    if one.certificate_file is None:
        return one.certificates
    text = one.certificate_file.read_text("utf-8")
    return (*one.certificates, *_PEM.findall(text))
