"""Begin a sign-in: find the connection, and send the browser to its identity provider."""

from functools import partial

from domain.context import Context
from domain.social.authorization_request import AuthorizationRedirect, AuthorizationRequest
from domain.social.errors import ProviderNotFound, ProviderUnavailable
from domain.sso_sign_in import connections, openid, saml
from domain.sso_sign_in.connections import ConnectionSelector
from models.sso_connection import ConnectionRow, ConnectionType


async def begin(
    ctx: Context, selector: ConnectionSelector, request: AuthorizationRequest
) -> AuthorizationRedirect:
    """Begin a sign-in through the connection that `selector` names.

    Raises ValidationError if it names none, ConnectionNotFound, and ProviderUnavailable, also if the configuration of
    the connection cannot be read.
    """
    # In a transaction of its own, because the provider may be called next.
    row = await ctx.in_new_transaction(partial(connections.find, selector=selector))
    return await begin_at(ctx, row, request)


async def begin_at(ctx: Context, row: ConnectionRow, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin a sign-in, or a test, through a connection.

    Raises ProviderUnavailable, also if the configuration of the connection cannot be read.
    """
    try:
        if row.type == ConnectionType.SAML:
            return await saml.begin(ctx, row, request)
        return await openid.begin(ctx, row, request)
    except ProviderNotFound as unreadable:
        raise ProviderUnavailable from unreadable
