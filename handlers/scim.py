"""The operations of openapi/paths/scim.yaml: users and groups from the directories of companies, by SCIM 2.0."""

from collections.abc import Sequence
from datetime import timedelta

from domain.context import Context
from domain.scim import discovery, groups, management, users
from domain.scim.request import ScimReply, ScimRequest
from handlers import shapes, wire
from models.scim_failure import ScimFailureRow
from models.scim_token import ScimTokenRow


# scim.get_configuration
async def get_configuration(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return the capabilities of the service."""
    return await discovery.service_configuration(ctx, request)


# scim.list_resource_types
async def list_resource_types(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return the types of resources."""
    return await discovery.resource_types(ctx, request)


# scim.get_resource_type
async def get_resource_type(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a type of resources."""
    return await discovery.resource_types(ctx, request)


# scim.list_schemas
async def list_schemas(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return the schemas."""
    return await discovery.schemas(ctx, request)


# scim.get_schema
async def get_schema(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a schema."""
    return await discovery.schemas(ctx, request)


# scim.create_user
async def create_user(ctx: Context, request: ScimRequest) -> ScimReply:
    """Create a user."""
    return await users.create(ctx, request)


# scim.list_users
async def list_users(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return users."""
    return await users.list_users(ctx, request)


# scim.get_user
async def get_user(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a user."""
    return await users.get(ctx, request)


# scim.replace_user
async def replace_user(ctx: Context, request: ScimRequest) -> ScimReply:
    """Replace a user."""
    return await users.replace(ctx, request)


# scim.patch_user
async def patch_user(ctx: Context, request: ScimRequest) -> ScimReply:
    """Change parts of a user."""
    return await users.patch(ctx, request)


# scim.delete_user
async def delete_user(ctx: Context, request: ScimRequest) -> ScimReply:
    """Remove a user from the directory."""
    return await users.delete(ctx, request)


# scim.create_group
async def create_group(ctx: Context, request: ScimRequest) -> ScimReply:
    """Create a group."""
    return await groups.create(ctx, request)


# scim.list_groups
async def list_groups(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return groups."""
    return await groups.list_groups(ctx, request)


# scim.get_group
async def get_group(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a group."""
    return await groups.get(ctx, request)


# scim.replace_group
async def replace_group(ctx: Context, request: ScimRequest) -> ScimReply:
    """Replace a group."""
    return await groups.replace(ctx, request)


# scim.patch_group
async def patch_group(ctx: Context, request: ScimRequest) -> ScimReply:
    """Change parts of a group."""
    return await groups.patch(ctx, request)


# scim.delete_group
async def delete_group(ctx: Context, request: ScimRequest) -> ScimReply:
    """Delete a group."""
    return await groups.delete(ctx, request)


# scim.create_token
async def create_token(ctx: Context, body: shapes.CreateScimTokenRequest) -> shapes.CreatedScimToken:
    """Create a token of a directory."""
    connection = await management.managed(ctx, body["providerId"], change=True)
    seconds = body.get("expiresIn")
    expires_in = None if seconds is None else timedelta(seconds=seconds)
    row, secret = await management.create_token(ctx, connection, body["name"], expires_in)
    return {"token": _token(row), "secret": secret}


# scim.list_tokens
async def list_tokens(ctx: Context, provider_id: str) -> Sequence[shapes.ScimToken]:
    """Return the tokens of a directory, without their texts."""
    connection = await management.managed(ctx, provider_id)
    return [_token(row) for row in await management.list_tokens(ctx, connection)]


# scim.revoke_token
async def revoke_token(ctx: Context, body: shapes.RevokeScimTokenRequest) -> shapes.ScimSuccess:
    """Revoke a token of a directory."""
    connection = await management.managed(ctx, body["providerId"], change=True)
    await management.revoke_token(ctx, connection, body["tokenId"])
    return {"success": True}


# scim.get_directory
async def get_directory(ctx: Context, provider_id: str) -> shapes.ScimDirectory:
    """Return the state of a directory."""
    connection = await management.managed(ctx, provider_id)
    state = await management.state_of(ctx, connection)
    return {
        "url": state.url,
        "activeUsers": state.active_users,
        "stoppedAt": wire.optional_instant(state.stopped_at),
        "lastErrors": [_failure(row) for row in state.failures],
    }


# scim.confirm
async def confirm(ctx: Context, body: shapes.ConfirmScimDirectoryRequest) -> shapes.ScimSuccess:
    """Resume a directory that was stopped because it disabled too many users."""
    connection = await management.managed(ctx, body["providerId"], change=True)
    await management.confirm(ctx, connection)
    return {"success": True}


def _failure(row: ScimFailureRow) -> shapes.ScimFailure:
    return {
        "time": wire.instant(row.created_at),
        "method": row.method,
        "resource": row.resource,
        "status": row.status,
        "scimType": row.scim_type,
        "message": row.message,
    }


def _token(row: ScimTokenRow) -> shapes.ScimToken:
    return {
        "id": row.id,
        "name": row.name,
        "createdAt": wire.instant(row.created_at),
        "lastUsedAt": wire.optional_instant(row.last_used_at),
        "expiresAt": wire.optional_instant(row.expires_at),
    }
