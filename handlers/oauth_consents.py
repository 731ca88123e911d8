"""The operations of openapi/paths/oauth_consents.yaml.

List, read, narrow and revoke what users have allowed OAuth clients.
"""

from collections.abc import Sequence

from domain.context import Context
from domain.oauth_consents import consents
from domain.oauth_consents.consents import Connection
from handlers import shapes, wire


# oauth_consents.list
async def list(ctx: Context) -> Sequence[shapes.OAuthConsent]:  # noqa: A001 - the name of the operation
    """Return the consents of the caller: what the caller has allowed each client."""
    return [consent_shape(one) for one in await consents.list_own(ctx)]


# oauth_consents.read
async def read(ctx: Context, id_: str) -> shapes.OAuthConsent:
    """Return one consent of the caller."""
    return consent_shape(await consents.read(ctx, id_))


# oauth_consents.narrow
async def narrow(ctx: Context, body: shapes.UpdateConsentRequest) -> shapes.OAuthConsent:
    """Reduce the scopes of a consent."""
    return consent_shape(await consents.narrow(ctx, body["id"], body["update"]["scopes"]))


# oauth_consents.revoke
async def revoke(ctx: Context, body: shapes.DeleteConsentRequest) -> shapes.RevokedConsent:
    """Revoke a consent."""
    await consents.revoke(ctx, body["id"])
    return {"success": True}


def consent_shape(one: Connection) -> shapes.OAuthConsent:
    """Return a consent in the form of API responses."""
    row = one.consent
    return {
        "id": row.id,
        "clientId": row.client_id,
        "clientName": one.client_name,
        "userId": row.user_id,
        "scopes": row.scopes.split(),
        "resources": row.resources.split(),
        "createdAt": wire.instant(row.created_at),
        "updatedAt": wire.instant(row.updated_at),
    }
