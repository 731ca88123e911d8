"""Tokens that act for the client itself (RFC 6749, 4.4)."""

from domain.context import Context
from domain.oauth import access, tokens
from domain.oauth.engine import TokenEngine
from domain.oauth.grant_types import grant_type
from domain.oauth.tokens import TokenResponse
from domain.oauth_clients.errors import UnauthorizedClient
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow

CLIENT_CREDENTIALS = "client_credentials"


@grant_type(CLIENT_CREDENTIALS)
async def issue(ctx: Context, client: ClientRow, parameters: OAuthParameters) -> TokenResponse:
    """Return an access token for the client. Raises UnauthorizedClient, InvalidScope, InvalidTarget, Unavailable."""
    metadata = client.metadata
    # The id of a client without credentials is public.
    if metadata["token_endpoint_auth_method"] == "none":  # noqa: S105 - a method, no password
        raise UnauthorizedClient
    scopes = ctx.port[TokenEngine](client, parameters)
    requested = parameters.every("resource")
    selected = access.select(
        ctx, client, requested, scopes=scopes, resources=metadata.get("resources", ()) if requested else ()
    )
    return await tokens.issue_to_client(ctx, client, selected, grant_type=CLIENT_CREDENTIALS)
