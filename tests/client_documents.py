"""Documents of OAuth clients, as their servers publish them, and the requests of a service for them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

import httpx

from domain.oauth_clients.documents import ClientDocuments
from server.oauth.client_documents import TIMEOUT, DocumentFetcher
from server.outbound.client import Document, OutboundClient
from server.outbound.guard import Guard, OwnAddresses
from tests.certificates import Authority
from tests.oauth import OAuthTestClient
from tests.oauth_flow import error_of
from tests.receiver import Addresses, Behaviour, Names, Receiver, respond
from tests.service import Service

SETTINGS = {"oauth.client_documents": "true"}
CLIENT_ID = "https://app.example/client.json"
REDIRECT_URI = "https://app.example/callback"
JSON = {"Content-Type": "application/json"}


def document(client_id: str = CLIENT_ID, **members: Any) -> dict[str, Any]:
    """Return the metadata of an application without a secret; members that are None are left out."""
    usual = {
        "client_id": client_id,
        "client_name": "App",
        "redirect_uris": [REDIRECT_URI],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    }
    return {name: value for name, value in {**usual, **members}.items() if value is not None}


def published(content: Any = None, **headers: str) -> Behaviour:
    """Return the behaviour of a server with a document; headers have `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = content if isinstance(content, bytes) else json.dumps(content or document()).encode()
    return respond(200, body, JSON | named)


@dataclass
class Site:
    """A server of documents, the names of its hosts, and the requests of a service to it.

    The URLs of documents have no port, so a request for the usual one goes to the port of the receiver.
    """

    receiver: Receiver
    authority: Authority
    names: Names = field(
        default_factory=lambda: Names({name: [["127.0.0.1"]] for name in ("app.example", "evil.example")})
    )
    own: OwnAddresses = field(default_factory=lambda: OwnAddresses("https://auth.example"))
    allowed: str = "127.0.0.0/8"

    async def get(self, url: str, *, headers: Mapping[str, str], largest: int, within: float) -> Document:
        """Request a URL at the port of the receiver. Raises OutboundError."""
        guard = Guard(
            self.names,
            self.own,
            allowed_ports=[self.receiver.port],
            allowed_networks=[ip_network(self.allowed)],
        )
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        client = OutboundClient(guard, self.authority.pem)
        there = f"{scheme}://{host}:{self.receiver.port}/{path}"
        return await client.get(there, headers=headers, largest=largest, within=within)

    def serve(self, service: Service, timeout: float = TIMEOUT) -> None:
        """Have a service request its documents here; it remembers no request."""
        service.services.port.add(ClientDocuments, DocumentFetcher(self, timeout))

    def publish(self, content: Any = None, **headers: str) -> None:
        """Publish a document, by default the usual one."""
        self.receiver.otherwise = published(content, **headers)

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return len(self.receiver.requests)


def client_of(client_id: str = CLIENT_ID) -> OAuthTestClient:
    """Return a client without a secret."""
    return OAuthTestClient(client_id, None)


def is_refused(answer: httpx.Response) -> bool:
    """Return whether a request has ended on the error page of the service because of its client."""
    is_here = answer.headers["location"].startswith("http://localhost:8000/error?")
    return is_here and error_of(answer) == "invalid_client"


def hosts(*names: str, addresses: Sequence[Addresses] = (["127.0.0.1"],)) -> Names:
    """Return a resolver for these names."""
    return Names(dict.fromkeys(names, addresses))
