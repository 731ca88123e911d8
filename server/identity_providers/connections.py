"""Clients of the OpenID providers of single sign-on connections, created from the stored configuration when needed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from domain import urls
from domain.identity_provider import LEEWAY, IdentityRefused, ProviderTraits
from domain.ports import Cipher
from domain.sso.configuration import OidcConfig, config_of
from domain.sso.discovery import document_url
from domain.sso_sign_in.providers import LogoutClaims
from models.sso_connection import ConnectionRow
from server.clock import Clock
from server.identity_providers import discovery
from server.identity_providers.client import ProviderClient
from server.identity_providers.configuration import ALGORITHMS, DEFAULT_TENANT, Configuration
from server.identity_providers.discovery import Metadata
from server.identity_providers.http_client import Calls
from server.identity_providers.id_token import LOGOUT_AGE
from server.identity_providers.instrumentation import Instrumentation
from server.identity_providers.openid_connect import OpenIdConnect, open_id
from server.identity_providers.presets import OPENID_NAMES, Names, Preset

MOST_CLIENTS = 1000
"""Most connections whose clients, with their documents and keys, are kept; the least recently used are removed."""


@dataclass(frozen=True, slots=True)
class ConnectionClient(ProviderClient):
    """The client of the OpenID provider of one connection. Implements `ConnectionProvider`."""

    config: OidcConfig = field(kw_only=True)

    async def read_logout_token(self, token: str, now: datetime) -> LogoutClaims:
        """Verify a logout token of the provider, and return its contents.

        Raises IdentityRefused, ProviderUnavailable.
        """
        async with self._available():
            claims = await self._openid.logout_claims(token, now)
        sid, subject = (claims.get(name) for name in ("sid", "sub"))
        issued = datetime.fromtimestamp(int(claims["iat"]), UTC)
        return LogoutClaims(
            token_id=claims["jti"],
            subject=subject if isinstance(subject, str) else None,
            session_id=sid if isinstance(sid, str) else None,
            replay_until=issued + timedelta(seconds=LOGOUT_AGE + 2 * LEEWAY),
        )

    async def logout_url(self, return_to: str) -> str | None:
        """Return the URL that signs a user out at the provider, which then redirects to `return_to`.

        None if the provider has no such endpoint. Raises ProviderUnavailable.
        """
        async with self._available():
            endpoint = self.config.end_session_endpoint or await self._openid.end_session_endpoint()
        if endpoint is None:
            return None
        parameters = {"client_id": self.config.client_id, "post_logout_redirect_uri": return_to}
        return urls.with_parameters(endpoint, **parameters)

    @property
    def _openid(self) -> OpenIdConnect:
        if not isinstance(self.kind, OpenIdConnect):
            raise IdentityRefused
        return self.kind


class ConnectionClients:
    """The clients of connections; each is kept until its connection is changed. Implements `ConnectionProviders`."""

    def __init__(
        self,
        calls: Callable[[], Calls],
        cipher: Cipher,
        clock: Clock,
        instrumentation: Instrumentation,
        *,
        loopback_http: bool,
    ) -> None:
        self._calls = calls
        self._cipher = cipher
        self._clock = clock
        self._instrumentation = instrumentation
        self._loopback_http = loopback_http
        self._clients: dict[str, tuple[bytes, str, ConnectionClient]] = {}

    def get(self, row: ConnectionRow) -> ConnectionClient | None:
        """Return the client of a connection.

        None if the stored configuration cannot be decrypted, or is not of OpenID Connect.
        """
        known = self._clients.pop(row.id, None)
        if known is None or known[:2] != (row.config, row.issuer):
            config = config_of(self._cipher, row)
            if not isinstance(config, OidcConfig):
                return None
            known = (row.config, row.issuer, self._client(row, config))
        self._clients[row.id] = known
        if len(self._clients) > MOST_CLIENTS:
            self._clients.pop(next(iter(self._clients)))
        return known[2]

    def _client(self, row: ConnectionRow, config: OidcConfig) -> ConnectionClient:
        configuration = configuration_of(row, config, loopback_http=self._loopback_http)
        calls = self._calls()

        async def discover(calls: Calls, configuration: Configuration) -> Metadata:
            return await metadata_of(calls, configuration, config)

        kind = open_id(configuration, calls, self._clock, discover)
        return ConnectionClient(configuration, calls, kind, self._instrumentation, config=config)

    async def close(self) -> None:
        """Cancel running requests for the metadata and keys of providers."""
        for _, _, client in self._clients.values():
            await client.close()


def configuration_of(row: ConnectionRow, config: OidcConfig, *, loopback_http: bool) -> Configuration:
    """Return the configuration of the provider of a connection; `loopback_http` allows http on this machine."""
    return Configuration(
        traits=ProviderTraits(
            id=f"sso:{row.provider_id}",
            scopes=config.scopes,
            is_openid=True,
            takes_id_tokens=False,
            refreshes=False,
        ),
        preset=Preset(refreshes=False),
        client_id=config.client_id,
        secret=config.client_secret,
        signing_key=None,
        token_auth=config.token_auth,
        issuers=(row.issuer,),
        discovery_url=config.discovery_url or document_url(row.issuer),
        endpoints=None,
        tenant=DEFAULT_TENANT,
        pkce=True,
        algorithms=ALGORITHMS,
        names=_names(config),
        extra_params=MappingProxyType({}),
        loopback_http=loopback_http,
    )


async def metadata_of(calls: Calls, configuration: Configuration, config: OidcConfig) -> Metadata:
    """Return the metadata of a connection's provider. Raises ProviderError.

    Endpoints in `config`, the configuration of the connection, precede those of the discovery document, which is not
    fetched if `config` has all required ones.
    """
    own = {
        name: url
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
        if (url := getattr(config, name)) is not None
    }
    if {"authorization_endpoint", "token_endpoint", "jwks_uri"} <= own.keys():
        announced = {"issuer": configuration.issuers[0], **own}
    elif own:
        announced = {**(await discovery.discover(calls, configuration)).announced, **own}
    else:
        return await discovery.discover(calls, configuration)
    return discovery.metadata_of(announced, configuration)


def _names(config: OidcConfig) -> Names:
    own = {name: getattr(config.names, name) for name in ("id", "email", "name", "image")}
    named = {name: (claim,) for name, claim in own.items() if claim is not None}
    return MappingProxyType({**OPENID_NAMES, **named})
