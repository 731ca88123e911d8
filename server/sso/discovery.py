"""Fetch and check discovery documents of OpenID providers, and fetch SAML metadata."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import orjson

from domain.outbound import OutboundError
from domain.sso.configuration import ClientAuthentication
from domain.sso.discovery import Discovered, DiscoveryError, DiscoveryFailure

if TYPE_CHECKING:
    from server.outbound.client import Document

LARGEST = 1024 * 1024
"""The largest document in bytes."""
TIMEOUT = 10.0
"""Timeout in seconds of a request, from the look-up of the address to the end of the document."""

_JSON = "application/json"
_METADATA = "application/samlmetadata+xml, application/xml, text/xml"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_METHODS: tuple[tuple[str, ClientAuthentication], ...] = (
    ("client_secret_basic", "basic"),
    ("client_secret_post", "post"),
)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Source(Protocol):
    """The interface of `server.outbound.LazyClient`, which sends requests to URLs that users choose."""

    async def get(self, url: str, *, headers: Mapping[str, str], largest: int, within: float) -> "Document":
        """Return the response, at most `within` seconds after the start. Raises OutboundError."""


class Discovery:
    """Reads discovery documents and SAML metadata. Implements `domain.sso.discovery.ProviderDiscovery`."""

    def __init__(self, source: Source, *, development: bool = False, timeout: float = TIMEOUT) -> None:
        self._source = source
        self._development = development
        self._timeout = timeout

    async def discover(self, issuer: str, url: str) -> Discovered:
        """Return the discovery document at a URL, checked to be of this issuer and complete. Raises DiscoveryError."""
        document = await self._document(url)
        if document.get("issuer") != issuer:
            raise DiscoveryError(DiscoveryFailure.ISSUER_MISMATCH)
        if not all(self._is_endpoint(document.get(name)) for name in _ENDPOINTS):
            raise DiscoveryError(DiscoveryFailure.INCOMPLETE)
        return Discovered(_token_auth(document), document)

    async def fetch_metadata(self, url: str) -> bytes:
        """Return the SAML metadata at a URL. Raises DiscoveryError."""
        return await self._fetch(url, _METADATA)

    async def _document(self, url: str) -> Mapping[str, Any]:
        try:
            document = orjson.loads(await self._fetch(url, _JSON))
        except orjson.JSONDecodeError:
            document = None
        if not isinstance(document, dict):
            raise DiscoveryError(DiscoveryFailure.INVALID_JSON)
        return document

    async def _fetch(self, url: str, media_types: str) -> bytes:
        """Return the body of a response. Raises DiscoveryError."""
        headers = {"accept": media_types, "user-agent": "Gatewright-SSO/1"}
        try:
            response = await self._source.get(url, headers=headers, largest=LARGEST, within=self._timeout)
        except OutboundError as error:
            raise DiscoveryError(DiscoveryFailure(error.reason.value)) from None
        if response.status != 200:
            is_redirect = 300 <= response.status < 400
            raise DiscoveryError(DiscoveryFailure.REDIRECT if is_redirect else DiscoveryFailure.STATUS)
        if len(response.body) > LARGEST:
            raise DiscoveryError(DiscoveryFailure.SIZE)
        return response.body

    def _is_endpoint(self, url: object) -> bool:
        """Return whether a member is an https URL, or in development one of this machine."""
        if not isinstance(url, str) or not url.isprintable():
            return False
        try:
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError:
            return False
        is_local = self._development and parts.scheme == "http" and host in _LOOPBACK
        return bool(host) and (parts.scheme == "https" or is_local)


def _token_auth(document: Mapping[str, Any]) -> ClientAuthentication:
    """Return how to authenticate at the token endpoint; without an announcement it is `basic` (RFC 8414)."""
    methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    for method, name in _METHODS:
        if isinstance(methods, list) and method in methods:
            return name
    raise DiscoveryError(DiscoveryFailure.CLIENT_AUTHENTICATION)
