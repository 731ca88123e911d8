"""The token endpoint (RFC 6749, 3.2): authenticates the client, and calls the rule of the grant type."""

from domain.context import Context
from domain.oauth import authorization_code, client_credentials, refresh
from domain.oauth.grant_types import GRANT_TYPES
from domain.oauth.tokens import TokenResponse
from domain.oauth_clients import authentication
from domain.oauth_clients.errors import UnauthorizedClient, UnsupportedGrantType
from domain.oauth_clients.parameters import OAuthParameters

BUILT_IN = (authorization_code.redeem, refresh.refresh, client_credentials.issue)
"""The rules that their modules register when they are imported here; those of other packages register as well."""


async def respond(ctx: Context, parameters: OAuthParameters) -> TokenResponse:
    """Return the tokens that a client asks for. Raises OAuthError, Unavailable."""
    client = await authentication.authenticate(ctx, parameters)
    grant_type = parameters.require("grant_type")
    rule = GRANT_TYPES.get(grant_type)
    if rule is None:
        raise UnsupportedGrantType
    if grant_type not in client.metadata["grant_types"]:
        raise UnauthorizedClient
    return await rule(ctx, client, parameters)
