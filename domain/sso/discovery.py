"""The interface that reads what a provider publishes about itself when a connection is saved.

That is the discovery document of an OpenID provider, or the metadata of a SAML identity provider.

`server/sso` implements it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from domain.sso.configuration import ClientAuthentication


class DiscoveryFailure(StrEnum):
    """Why a document cannot be used. The words do not depend on what was found at other addresses."""

    DNS = "dns"
    REFUSED_ADDRESS = "refused_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_SLOW = "too_slow"
    """These are the words of `domain.outbound.OutboundFailure`."""
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
    """The discovery document cannot be used."""

    def __init__(self, reason: DiscoveryFailure) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Discovered:
    """A discovery document that can be used."""

    token_auth: ClientAuthentication
    document: Mapping[str, Any]


class ProviderDiscovery(Protocol):
    """Requests for discovery documents."""

    async def discover(self, issuer: str, url: str) -> Discovered:
        """Return the document of an issuer at a URL.

        Takes up to 10 seconds, so do not call it within a transaction. Raises DiscoveryError.
        """

    async def fetch_metadata(self, url: str) -> bytes:
        """Return the SAML metadata at a URL, unread and of at most 1 MiB.

        Takes up to 10 seconds, so do not call it within a transaction. Raises DiscoveryError.
        """
