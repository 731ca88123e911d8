"""The operations of openapi/paths/oauth_clients.yaml: read, manage and register clients of the OAuth provider."""

from collections.abc import Sequence
from typing import cast

from domain.admin_oauth_clients import clients
from domain.context import Context
from domain.oauth_clients import registration
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_requests import details
from handlers import shapes
from handlers.responses.reply import Reply
from models.oauth_client import ClientRow

_PUBLIC = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "contacts")
"""The metadata members that anyone may read."""


# oauth_clients.read_public
async def read_public(ctx: Context, client_id: str) -> shapes.PublicOAuthClient:
    """Return what users may know about a client."""
    return public_client(await details.client(ctx, client_id))


# oauth_clients.read_public_before_login
async def read_public_before_login(
    ctx: Context, body: shapes.ReadPublicOAuthClientRequest
) -> shapes.PublicOAuthClient:
    """Return what anyone may know about the client of a live authorization request; no session is needed."""
    return public_client(await details.client_before_login(ctx, body["client_id"], body["oauth_query"]))


def public_client(row: ClientRow) -> shapes.PublicOAuthClient:
    """Return the public data of a client; metadata members without a value are left out."""
    members = {name: value for name, value in row.metadata.items() if name in _PUBLIC and value}
    shape = {"client_id": row.client_id, "client_name": row.client_name, **members, "redirect_uris": []}
    return cast(shapes.PublicOAuthClient, shape)


# oauth_clients.create
async def create(ctx: Context, body: shapes.OAuthClientMetadata) -> shapes.OAuthClientWithSecret:
    """Create a client."""
    return with_secret(*await clients.create(ctx, {**body}))


# oauth_clients.read
async def read(ctx: Context, client_id: str) -> shapes.OAuthClient:
    """Return a client."""
    return client_shape(await clients.read(ctx, client_id))


# oauth_clients.list
async def list(ctx: Context) -> Sequence[shapes.OAuthClient]:  # noqa: A001 - the name of the operation
    """Return the clients that the caller may manage."""
    return [client_shape(row) for row in await clients.list_all(ctx)]


# oauth_clients.update
async def update(ctx: Context, body: shapes.UpdateOAuthClientRequest) -> shapes.OAuthClient:
    """Change a client."""
    sent = {**body["update"]}
    is_disabled = cast(bool | None, sent.pop("disabled", None))
    return client_shape(await clients.update(ctx, body["client_id"], sent, is_disabled=is_disabled))


# oauth_clients.rotate_secret
async def rotate_secret(
    ctx: Context, body: shapes.RotateOAuthClientSecretRequest
) -> shapes.OAuthClientWithSecret:
    """Replace the secret of a client; return the client and the new secret."""
    return with_secret(*await clients.rotate_secret(ctx, body["client_id"]))


# oauth_clients.remove
async def remove(ctx: Context, body: shapes.DeleteOAuthClientRequest) -> shapes.DeletedOAuthClient:
    """Delete a client."""
    await clients.remove(ctx, body["client_id"])
    return {"success": True}


# oauth_clients.register
async def register(ctx: Context, parameters: OAuthParameters) -> Reply[shapes.OAuthClientWithSecret]:
    """Register a client with the metadata that it sends."""
    return Reply(with_secret(*await registration.register(ctx, parameters)), status=201)


def with_secret(row: ClientRow, secret: str | None) -> shapes.OAuthClientWithSecret:
    """Return a client in the form of API responses, with its secret unless that is None."""
    shown = {} if secret is None else {"client_secret": secret, "client_secret_expires_at": 0}
    return cast(shapes.OAuthClientWithSecret, {**client_shape(row), **shown})


def client_shape(row: ClientRow) -> shapes.OAuthClient:
    """Return a client in the form of API responses, without its secret."""
    shape = {
        "client_id": row.client_id,
        "client_id_issued_at": int(row.created_at.timestamp()),
        **row.metadata,
        "response_types": ["code"],
        "disabled": row.disabled_at is not None,
        "source": row.source,
    }
    if row.owner_id is not None:
        shape["user_id"] = row.owner_id
    return cast(shapes.OAuthClient, shape)
