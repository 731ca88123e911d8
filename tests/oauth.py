"""OAuth clients of tests, entered as the command line does."""

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from domain.context import Context
from domain.oauth_clients import clients, metadata
from domain.oauth_clients.policy import ClientPolicy
from models.oauth_client import ClientRow, ClientSource
from tests.service import Service

REDIRECT_URI = "https://shop.example/callback"


@dataclass(frozen=True)
class OAuthTestClient:
    """A client that the service knows."""

    client_id: str
    secret: str | None
    """None for a client without one."""

    @property
    def basic(self) -> dict[str, str]:
        """The header with its credentials (RFC 6749, 2.3.1)."""
        return basic(self.client_id, self.secret or "")

    @property
    def form(self) -> dict[str, str]:
        """Its credentials as parameters of a form."""
        return {"client_id": self.client_id} | ({} if self.secret is None else {"client_secret": self.secret})


def basic(client_id: str, secret: str) -> dict[str, str]:
    """Return the Authorization header with an id and a secret."""
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return {"authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


async def add_client(
    service: Service, *, source: Any = ClientSource.CLI, owner_id: Any = None, **members: Any
) -> OAuthTestClient:
    """Enter a client with this metadata; by default a web application with a secret, named Shop."""
    sent = {"client_name": "Shop", "redirect_uris": [REDIRECT_URI], **members}

    async def job(ctx: Context) -> tuple[ClientRow, str | None]:
        checked = metadata.complete(sent, ctx.policy[ClientPolicy])
        return await clients.add(ctx, checked, source, owner_id=owner_id)

    row, secret = await service.services.unit_of_work.run(job)
    return OAuthTestClient(row.client_id, secret)


async def add_public_client(service: Service, **members: Any) -> OAuthTestClient:
    """Enter a native application without a secret."""
    native = {
        "application_type": "native",
        "redirect_uris": ["http://127.0.0.1/callback"],
        "token_endpoint_auth_method": "none",
    }
    return await add_client(service, **{**native, **members})
