"""The settings of the OAuth and OpenID Connect provider, and the clients from the configuration."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from domain.backchannel_logout.policy import BackchannelLogoutPolicy
from domain.oauth import discovery
from domain.oauth.policy import PAGES, DevicePolicy, OAuthPolicy
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy, ConfiguredClient, Resource
from server.config.base import Group, Settings, fill
from server.config.groups.authentication import SignUpSettings
from server.config.groups.jwt import JwtSettings
from server.config.groups.pages import PagesSettings
from server.config.value_types import (
    Duration,
    Items,
    OptionalPath,
    OptionalUrl,
    duration_between,
    is_http,
    read_secret,
    setting,
)

_CLIENT_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_SCOPE = re.compile(r"[A-Za-z0-9_.:/-]{1,64}", re.ASCII)
_LONGEST_HOST = 253
_HOST = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)

Texts = Annotated[tuple[str, ...], Items]


class ResourceSettings(Group):
    """`oauth.resources.<uri>.*`: an API that access tokens are for (RFC 8707)."""

    name: str = Field(min_length=1, max_length=64, description="Name that users see.")
    scopes: Texts = setting((), "Scopes that access tokens for the resource may have.")
    format: Literal["jwt", "opaque"] = setting("jwt", "Form of access tokens for the resource.")
    expires_in: Duration | None = setting(
        None,
        "Lifetime of access tokens for the resource, from 1m to 1h; by default "
        "`oauth.access_token_expires_in`.",
    )


class ClientSettings(Group):
    """`oauth.clients.<client_id>.*`: a client from the configuration, which cannot be changed elsewhere."""

    client_name: str = Field(description="Name that users see.")
    application_type: Literal["web", "native"] = setting("web", "Kind of the application.")
    redirect_uris: Texts = setting((), "URLs to which users return with an authorization code.")
    post_logout_redirect_uris: Texts = setting((), "URLs to which users return after signing out.")
    token_endpoint_auth_method: Literal[
        "client_secret_basic", "client_secret_post", "none", "private_key_jwt"
    ] = setting("client_secret_basic", "How the client authenticates.")
    jwks: dict[str, Any] | None = setting(
        None, "Public keys of a client that authenticates by `private_key_jwt`."
    )
    grant_types: Texts = setting(("authorization_code",), "Grant types that the client may use.")
    scope: str = setting("openid profile email", "Scopes that the client may request, separated by spaces.")
    resources: Texts = setting((), "Resources that the client may request.")
    client_credentials_scopes: Texts = setting(
        (), "Scopes of tokens that the client gets for itself, without a user."
    )
    id_token_signed_response_alg: str | None = setting(
        None,
        "Signature algorithm of ID tokens for the client; by default RS256 if it is among "
        "`jwt.algorithms`, else the first of these.",
    )
    backchannel_logout_uri: OptionalUrl = setting(
        None, "URL to which a logout token is posted when a session ends."
    )
    client_uri: OptionalUrl = setting(None, "URL of the home page of the client.")
    logo_uri: OptionalUrl = setting(None, "URL of the logo of the client.")
    tos_uri: OptionalUrl = setting(None, "URL of the terms of service of the client.")
    policy_uri: OptionalUrl = setting(None, "URL of the privacy notice of the client.")
    contacts: Texts = setting((), "Contact addresses of the people responsible for the client.")
    skip_consent: bool = setting(False, "Whether users are not asked for their consent.")
    session_sign_in: bool = setting(
        False, "Whether devices of the client get a session from /device/token instead of OAuth tokens."
    )
    resource_server: Texts = setting((), "Resources whose access tokens the client may introspect.")
    secret: SecretStr | None = setting(None, "Client secret.")
    secret_file: OptionalPath = setting(None, "File with the secret, instead of `secret`.")

    def metadata(self) -> Mapping[str, Any]:
        """Return the client metadata that is set."""
        members = self.model_dump(exclude={"secret", "secret_file"}, exclude_none=True)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in members.items()}

    def read_secret(self) -> str | None:
        """Return the secret. Raises OSError and UnicodeDecodeError for a file that cannot be read."""
        return read_secret(self.secret, self.secret_file)


class DeviceSettings(Group):
    """`oauth.device.*`: sign-in on devices without a browser (RFC 8628)."""

    enabled: bool = setting(
        False, "Whether devices can sign in with a code that the user enters in a browser."
    )
    expires_in: Duration = duration_between("10m", "Lifetime of a code.", at_least="1m", at_most="1h")
    interval: int = setting(5, "Shortest time between two polls of a device, in seconds.", ge=1, le=60)
    complete_uri: bool = setting(
        True, "Whether devices also get a URL that contains the code, for example to show as a QR code."
    )


class OAuthSettings(Group):
    """`oauth.*`: the OAuth and OpenID Connect provider."""

    key = "oauth"

    enabled: bool = setting(
        False, "Whether applications can sign users in through this service by OpenID Connect."
    )
    scopes: dict[str, str] = setting(
        {}, "Scopes in addition to openid, profile, email and offline_access, each with its description."
    )
    resources: dict[str, ResourceSettings] = setting(
        {},
        "APIs that access tokens can be requested for, by URI (RFC 8707), each with name, scopes, format "
        "and expires_in.",
    )
    code_expires_in: Duration = duration_between("1m", "Lifetime of an authorization code.", at_most="10m")
    request_expires_in: Duration = duration_between(
        "10m", "How long a user may take to sign in and to consent.", at_least="1m", at_most="1h"
    )
    access_token_expires_in: Duration = duration_between(
        "10m", "Lifetime of an access token.", at_least="1m", at_most="1h"
    )
    id_token_expires_in: Duration = duration_between(
        "10m", "Lifetime of an ID token.", at_least="1m", at_most="1h"
    )
    refresh_token_expires_in: Duration = duration_between("30d", "Lifetime of a refresh token.")
    grant_lifetime: Duration = duration_between(
        "180d", "How long a client can refresh its tokens before the user has to sign in again."
    )
    refresh_reuse_grace: Duration = duration_between(
        "10s",
        "How long after a refresh the replaced refresh token still gets the same response, for example "
        "after a lost connection.",
        at_least="0s",
        at_most="60s",
    )
    device: DeviceSettings = DeviceSettings()
    registration: Literal["off", "token", "open"] = setting(
        "off",
        "Who may register clients (RFC 7591): no caller (`off`), holders of an initial access token "
        "(`token`), or all callers (`open`).",
    )
    client_documents: bool = setting(
        False,
        "Whether a client id may be the https URL of a document with the metadata of the client, as "
        "clients of the Model Context Protocol use it.",
    )
    client_document_hosts: Texts = setting(
        (),
        "Hosts from which documents of clients are accepted; `*.example.com` means all hosts below it. "
        "By default every public host.",
        max_length=1000,
    )
    client_management: Literal["off", "admin", "users"] = setting(
        "off",
        "Who may manage clients by operations: no user (`off`), users with the permission `service: manage` "
        "(`admin`), or every user, but only their own clients (`users`).",
    )
    login_page: OptionalUrl = setting(None, "Page to sign in, instead of the hosted one.")
    consent_page: OptionalUrl = setting(None, "Page to consent, instead of the hosted one.")
    device_page: OptionalUrl = setting(None, "Page to enter the code of a device, instead of the hosted one.")
    logout_page: OptionalUrl = setting(None, "Page to sign out, instead of the hosted one.")
    create_page: OptionalUrl = setting(None, "Page to sign up, instead of the hosted one.")
    clients: dict[str, ClientSettings] = setting(
        {}, "Clients by client id, each with its metadata and secret or secret_file."
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return what the provider issues, where users are sent, and what clients may ask for."""
        issuer = settings.base_url + settings.base_path
        hosted = issuer + settings[PagesSettings].path
        pages = {name: getattr(self, name) or hosted + path for name, path in PAGES.items()}
        if not settings[SignUpSettings].enabled:
            pages["create_page"] = pages["login_page"]
        select = f"{hosted}/select-account" if settings[PagesSettings].enabled else pages["login_page"]
        configured = {
            client_id: ConfiguredClient(one.metadata(), one.read_secret())
            for client_id, one in (self.clients if self.enabled else {}).items()
        }
        oauth = fill(OAuthPolicy, self, issuer=issuer, select_account_page=select, **pages)
        device = fill(DevicePolicy, self.device)
        clients = self.client_policy(settings, configured)
        return [
            oauth,
            device,
            clients,
            discovery.metadata_of(oauth, device, clients),
            fill(BackchannelLogoutPolicy, self, issuer=issuer, algorithms=settings[JwtSettings].algorithms),
        ]

    def client_policy(
        self, settings: Settings, configured: Mapping[str, ConfiguredClient] = MappingProxyType({})
    ) -> ClientPolicy:
        """Return what clients may be and ask for, with these configured ones."""
        return fill(
            ClientPolicy,
            self,
            resources={uri: fill(Resource, one) for uri, one in self.resources.items()},
            configured=configured,
            algorithms=settings[JwtSettings].algorithms,
            audiences=frozenset(settings[JwtSettings].audiences),
            is_development=settings.profile == "development",
        )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield what the provider cannot be without, and malformed scopes, resources and clients."""
        if self.enabled:
            yield from self._missing(settings)
        for scope in self.scopes:
            if not _SCOPE.fullmatch(scope) or scope in STANDARD_SCOPES:
                yield f"oauth.scopes: {scope} cannot be the name of a scope"
        for uri, resource in self.resources.items():
            yield from self._resource_problems(f"oauth.resources.{uri}", uri, resource)
        for host in self.client_document_hosts:
            if len(host) > _LONGEST_HOST or not _HOST.fullmatch(host):
                yield f"oauth.client_document_hosts: {host} is no host name in lower case, with `*.` in front or not"
        for client_id, client in self.clients.items():
            yield from _client_problems(f"oauth.clients.{client_id}", client_id, client)
            # The audience of an ID token is its client.
            if client_id in settings[JwtSettings].audiences:
                yield f"oauth.clients.{client_id}: is one of jwt.audiences, whose tokens would pass as its ID tokens"

    def production_problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if not every client could verify ID tokens (OpenID Connect Discovery 1.0, 3)."""
        if self.enabled and "RS256" not in settings[JwtSettings].algorithms:
            yield "oauth.enabled: needs RS256 in jwt.algorithms"

    def _missing(self, settings: Settings) -> Iterator[str]:
        jwt = settings[JwtSettings]
        if not jwt.enabled:
            yield "oauth.enabled: needs jwt.enabled"
        if jwt.issuer is not None and jwt.issuer != settings.base_url + settings.base_path:
            yield "oauth.enabled: jwt.issuer must be base_url and base_path, or not set"
        if settings.base_url and is_http(settings.base_url) and settings.profile != "development":
            yield "oauth.enabled: needs an https base_url"
        if not settings[PagesSettings].enabled:
            for name in PAGES:
                if getattr(self, name) is None:
                    yield f"oauth.{name}: must be set while pages.enabled is false"
        for name in PAGES:
            yield from settings.page_problems(f"oauth.{name}", getattr(self, name))

    def _resource_problems(self, key: str, uri: str, resource: ResourceSettings) -> Iterator[str]:
        parts = urlsplit(uri)
        if not parts.scheme or "#" in uri or not uri.isascii() or any(one.isspace() for one in uri):
            yield f"{key}: must be an absolute URI without a fragment"
        for scope in resource.scopes:
            if scope not in self.scopes:
                yield f"{key}.scopes: {scope} is none of oauth.scopes"
        seconds = None if resource.expires_in is None else resource.expires_in.total_seconds()
        if seconds is not None and not 60 <= seconds <= 3600:
            yield f"{key}.expires_in: from 1m to 1h"


def _client_problems(key: str, client_id: str, client: ClientSettings) -> Iterator[str]:
    if not _CLIENT_ID.fullmatch(client_id):
        yield f"{key}: a client id has 1 to 64 letters, digits, and . _ -"
    has_secret = client.token_endpoint_auth_method.startswith("client_secret")
    if has_secret and (client.secret is None) == (client.secret_file is None):
        yield f"{key}: needs either secret or secret_file"
    if not has_secret and not (client.secret is None and client.secret_file is None):
        yield f"{key}: has a secret, but token_endpoint_auth_method is {client.token_endpoint_auth_method}"
    try:
        secret = client.read_secret()
    except (OSError, UnicodeDecodeError):
        yield f"{key}.secret_file: cannot be read"
        return
    if secret is not None and not 32 <= len(secret) <= 512:
        yield f"{key}.secret: must have 32 to 512 characters"
