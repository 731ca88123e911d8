"""The operations of openapi/paths/oauth_clients.yaml."""

from typing import cast

from domain.context import Context
from domain.oauth_requests import details
from handlers import shapes
from models.oauth_client import ClientRow

_PUBLIC = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "contacts")
"""The members of the metadata that anyone may know."""


# oauth_clients.read_public
async def read_public(ctx: Context, client_id: str) -> shapes.PublicOAuthClient:
    """Return what a user may know of a client."""
    return public_client(await details.client(ctx, client_id))


# oauth_clients.read_public_before_login
async def read_public_before_login(
    ctx: Context, body: shapes.ReadPublicOAuthClientRequest
) -> shapes.PublicOAuthClient:
    """Return what anyone may know of the client of a live request."""
    return public_client(await details.client_before_login(ctx, body["client_id"], body["oauth_query"]))


def public_client(row: ClientRow) -> shapes.PublicOAuthClient:
    """Return what anyone may know of a client; members without a value are left out."""
    members = {name: value for name, value in row.metadata.items() if name in _PUBLIC and value}
    shape = {"client_id": row.client_id, "client_name": row.client_name, **members, "redirect_uris": []}
    return cast(shapes.PublicOAuthClient, shape)
