"""The operations of openapi/paths/oauth.yaml."""

from domain.context import Context
from domain.oauth import revocation, token_endpoint
from domain.oauth_clients.parameters import OAuthParameters
from handlers import shapes


# oauth.token
async def token(ctx: Context, parameters: OAuthParameters) -> shapes.OAuthTokens:
    """Issue tokens to the client."""
    return await token_endpoint.respond(ctx, parameters)


# oauth.revoke
async def revoke(ctx: Context, parameters: OAuthParameters) -> shapes.OAuthEmpty:
    """Revoke a token of the client."""
    await revocation.revoke(ctx, parameters)
    return {}
