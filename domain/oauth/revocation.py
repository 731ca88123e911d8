"""Revocation of tokens by their client (RFC 7009)."""

from domain.context import Context
from domain.oauth_clients import authentication
from domain.oauth_clients.parameters import OAuthParameters


async def revoke(ctx: Context, parameters: OAuthParameters) -> None:
    """End a token of the client that asks. Raises InvalidRequest and InvalidClient."""
    await authentication.authenticate(ctx, parameters)
    parameters.require("token")
