"""Connections with directories, and requests of directories, for tests."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from domain import tokens
from domain.scim.directories import PREFIX
from domain.sso.configuration import OidcConfig, encrypt_config
from models.scim_token import ScimToken
from models.sso_connection import ConnectionSource, ConnectionState, ConnectionType, SsoConnection
from models.sso_domain import SsoDomain
from tests import rows
from tests.service import START, Service

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
TIMES: dict[str, Any] = {"created_at": START, "updated_at": START}


@dataclass(frozen=True)
class Directory:
    """A directory that sends requests with its token."""

    service: Service
    connection_id: str
    token: str

    async def send(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        """Send a request, with its body in the media type of the protocol."""
        headers = {"authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        if body is not None:
            headers["content-type"] = "application/scim+json"
            options["content"] = json.dumps(body)
        return await self.service.client.request(method, f"/scim/v2{path}", headers=headers, **options)

    async def get(self, path: str, **query: Any) -> Any:
        """Return what the service knows."""
        answer = await self.send("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def create(self, address: str = "ada@example.com", **attributes: Any) -> Any:
        """Create a user."""
        answer = await self.send("POST", "/Users", user(address, **attributes))
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def change(self, path: str, *operations: Any, **options: Any) -> httpx.Response:
        """Change a resource."""
        return await self.send("PATCH", path, changes(*operations), **options)

    async def set_active(self, user_id: str, active: object) -> httpx.Response:
        """Disable or enable a user."""
        return await self.change(f"/Users/{user_id}", {"op": "replace", "path": "active", "value": active})


def user(address: str = "ada@example.com", **attributes: Any) -> dict[str, Any]:
    """Return a user as directories send them."""
    return {"schemas": [USER], "userName": address, **attributes}


def changes(*operations: Any) -> dict[str, Any]:
    """Return the message of a PATCH request."""
    return {"schemas": [PATCH], "Operations": operations}


def group(name: str, *members: str, **attributes: Any) -> dict[str, Any]:
    """Return a group as directories send them."""
    return {
        "schemas": [GROUP],
        "displayName": name,
        "members": [{"value": id_} for id_ in members],
        **attributes,
    }


async def add_directory(
    service: Service,
    organization_id: str | None = None,
    *domains: str,
    name: str = "acme",
    token: ScimToken | None = None,
    **columns: Any,
) -> Directory:
    """Store a connection with verified domains and a token; by default of the whole service, for example.com."""
    connection = SsoConnection(
        id=tokens.token(),
        **{
            "provider_id": name,
            "organization_id": organization_id,
            "type": ConnectionType.OIDC,
            "issuer": "https://login.example.com",
            "config": encrypt_config(service.services.cipher, OidcConfig("client")),
            "name": name,
            "state": ConnectionState.ACTIVE,
            "source": ConnectionSource.OPERATION,
            **TIMES,
            **columns,
        },
    )
    secret = PREFIX + tokens.token()
    await rows.add(service.services.database, connection)
    stored = [
        SsoDomain(
            id=tokens.token(),
            connection_id=connection.id,
            domain=domain,
            token="x",
            verified_at=START,
            **TIMES,
        )
        for domain in domains or ("example.com",)
    ]
    stored_token = token or ScimToken(
        id=tokens.token(), connection_id=connection.id, token=tokens.digest(secret), name="test", **TIMES
    )
    await rows.add(service.services.database, *stored, stored_token)
    return Directory(service, connection.id, secret)
