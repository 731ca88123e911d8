"""The interface that fetches the metadata of an identity provider when a connection is saved.

That is the discovery document of an OpenID provider, or the metadata of a SAML identity provider. `server/sso`
implements the interface.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from domain.sso.configuration import ClientAuthentication


class DiscoveryFailure(StrEnum):
    """Why a document cannot be used. The values are fixed words that contain nothing of the response."""

    DNS = "dns"
    REFUSED_ADDRESS = "refused_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_SLOW = "too_slow"
    """This and the values before it are those of `domain.outbound.OutboundFailure`."""
    REDIRECT = "redirect"
    STATUS = "status"
    """The status of the response is not 200."""
    SIZE = "size"
    """The document is larger than 1 MiB."""
    INVALID_JSON = "invalid_json"
    ISSUER_MISMATCH = "issuer_mismatch"
    INCOMPLETE = "incomplete"
    """An endpoint or the URL of the keys is missing, or it is not an https URL."""
    CLIENT_AUTHENTICATION = "token_auth"
    """The provider supports neither `client_secret_basic` nor `client_secret_post`."""


def document_url(issuer: str) -> str:
    """Return the URL of the discovery document of an issuer (OpenID Connect Discovery 1.0, 4)."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


class DiscoveryError(Exception):
    """A discovery document or SAML metadata cannot be fetched or used; `reason` says why."""

    def __init__(self, reason: DiscoveryFailure) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Discovered:
    """A checked discovery document, and how to authenticate at the token endpoint."""

    token_auth: ClientAuthentication
    document: Mapping[str, Any]


class ProviderDiscovery(Protocol):
    """Fetches discovery documents and SAML metadata."""

    async def discover(self, issuer: str, url: str) -> Discovered:
        """Return the discovery document at a URL, after checking that it is of this issuer.

        Takes up to 10 seconds, so do not call it within a transaction. Raises DiscoveryError.
        """

    async def fetch_metadata(self, url: str) -> bytes:
        """Return the SAML metadata at a URL as bytes, at most 1 MiB, which are not parsed.

        Takes up to 10 seconds, so do not call it within a transaction. Raises DiscoveryError.
        """
