"""The token endpoint (RFC 6749, 3.2): authenticates the client, and calls the rule of the grant type."""

from domain.context import Context
from domain.oauth import access, authorization_code, refresh, tokens
from domain.oauth.engine import TokenEngine
from domain.oauth.grant_types import GRANT_TYPES, grant_type
from domain.oauth.tokens import TokenResponse
from domain.oauth_clients import authentication
from domain.oauth_clients.errors import UnauthorizedClient, UnsupportedGrantType
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow

USER_RULES = (authorization_code.redeem, refresh.refresh)
"""The rules of this package that issue tokens about users. Their modules are imported here, which registers them."""

CLIENT_CREDENTIALS = "client_credentials"


async def respond(ctx: Context, parameters: OAuthParameters) -> TokenResponse:
    """Authenticate the client of a token request, and return its tokens. Raises OAuthError, Unavailable."""
    client = await authentication.authenticate(ctx, parameters)
    name = parameters.require("grant_type")
    rule = GRANT_TYPES.get(name)
    if rule is None:
        raise UnsupportedGrantType
    if name not in client.metadata["grant_types"]:
        raise UnauthorizedClient
    return await rule(ctx, client, parameters)


@grant_type(CLIENT_CREDENTIALS)
async def issue_to_client(ctx: Context, client: ClientRow, parameters: OAuthParameters) -> TokenResponse:
    """Return an access token that acts for the client itself (RFC 6749, 4.4).

    Raises UnauthorizedClient for a client without credentials; InvalidScope, InvalidTarget, Unavailable.
    """
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
