"""The operations of openapi/paths/accounts.yaml: list and unlink the ways a user can sign in."""

from domain.accounts import accounts
from domain.context import Context
from handlers import shapes, wire
from models.account import AccountRow


# accounts.list_linked
async def list_linked(ctx: Context) -> list[shapes.LinkedAccount]:
    """Return the ways in which the caller can sign in: a password and accounts at providers."""
    return [account_shape(row) for row in await accounts.of_caller(ctx)]


# accounts.unlink
async def unlink(ctx: Context, body: shapes.UnlinkAccountRequest) -> shapes.Status:
    """Remove one way to sign in from the caller."""
    await accounts.unlink(ctx, body.get("providerId"), body.get("accountId"))
    return {"status": True}


def account_shape(row: AccountRow) -> shapes.LinkedAccount:
    """Return a way to sign in in the form of API responses, without its tokens."""
    # Field by field, so that a column with a password or token is never sent by mistake.
    # defence: V31 account-fields
    return {
        "id": row.id,
        "provider": row.provider_id,
        "providerId": row.provider_id,
        "issuer": row.issuer,
        "accountId": row.account_id,
        "userId": row.user_id,
        "scopes": row.scopes,
        "createdAt": wire.instant(row.created_at),
        "updatedAt": wire.instant(row.updated_at),
    }
