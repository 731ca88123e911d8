"""The operations of openapi/paths/admin_oauth_clients.yaml.

For administrators: list OAuth clients, and list and end the grants of users to them.
"""

from domain.admin_oauth_clients import search as client_search
from domain.admin_oauth_clients.search import ClientSearch, Connection
from domain.context import Context
from domain.keyset import Ends, Position
from handlers import shapes, wire
from handlers.oauth_clients import client_shape
from models.oauth_client import ClientRow
from models.oauth_grant import ListedGrant

_LIMIT = 100
"""The number of rows of a page if the request does not name one."""


# admin_oauth_clients.list_clients
async def list_clients(
    ctx: Context,
    search: str | None = None,
    source: str | None = None,
    disabled: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> shapes.ListedOAuthClients:
    """Return a page of OAuth clients. `disabled` selects the disabled clients, or with False the others."""
    found = await client_search.list_clients(
        ctx,
        ClientSearch((search or "").strip(), source, disabled),
        before=_position(cursor),
        limit=limit or _LIMIT,
    )
    return {
        "clients": [
            _listed_shape(row, None if found.grants is None else found.grants.get(row.client_id, 0))
            for row in found.rows
        ],
        "total": found.total,
        "totalCapped": found.is_capped,
        "nextCursor": _next(found.ends),
    }


# admin_oauth_clients.list_grants
async def list_grants(
    ctx: Context,
    client_id: str | None = None,
    user_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> shapes.OAuthGrantPage:
    """Return a page of grants: the access that users have given to clients."""
    rows, ends = await client_search.list_grants(
        ctx, client_id=client_id, user_id=user_id, after=_position(cursor), limit=limit or _LIMIT
    )
    return {"grants": [_grant_shape(row) for row in rows], "nextCursor": _next(ends)}


# admin_oauth_clients.list_connections
async def list_connections(ctx: Context, user_id: str) -> shapes.OAuthConnections:
    """Return the connected applications of a user."""
    found = await client_search.list_connections(ctx, user_id)
    return {"connections": [_connection_shape(one) for one in found]}


# admin_oauth_clients.end_grants
async def end_grants(ctx: Context, body: shapes.EndGrantsRequest) -> shapes.EndedGrants:
    """End the grants of a client, of a user, or of a user to a client."""
    number = await client_search.end_grants(
        ctx,
        client_id=body.get("clientId"),
        user_id=body.get("userId"),
        with_consents=body.get("consents", False),
    )
    return {"success": True, "count": number}


def _position(cursor: str | None) -> Position | None:
    return None if cursor is None else wire.position(cursor)


def _next(ends: Ends) -> str | None:
    return None if ends.last is None else wire.cursor(ends.last)


def _listed_shape(row: ClientRow, grants: int | None) -> shapes.ListedOAuthClient:
    return {
        "client": client_shape(row),
        "verified": row.is_verified,
        "lastUsedOn": None if row.last_used_on is None else row.last_used_on.date().isoformat(),
        "grantCount": grants,
    }


def _grant_shape(row: ListedGrant) -> shapes.OAuthGrant:
    return {
        "id": row.id,
        "clientId": row.client_id,
        "clientName": row.client_name,
        "userId": row.user_id,
        "scopes": row.scopes.split(),
        "resources": row.resources.split(),
        "offline": row.offline,
        "createdAt": wire.instant(row.created_at),
        "expiresAt": wire.instant(row.expires_at),
    }


def _connection_shape(one: Connection) -> shapes.OAuthConnection:
    return {
        "clientId": one.client.client_id,
        "clientName": one.client.client_name,
        "verified": one.client.is_verified,
        "scopes": [*one.scopes],
        "resources": [*one.resources],
        "consentedAt": wire.optional_instant(one.consented_at),
        "grantedAt": wire.optional_instant(one.granted_at),
        "grantCount": one.grants,
    }
