"""The operations of openapi/paths/accounts.yaml."""

from domain.accounts import accounts
from domain.context import Context
from handlers import shapes, wire


# accounts.list_linked
async def list_linked(ctx: Context) -> list[shapes.LinkedAccount]:
    """Return the caller's linked accounts."""
    return [wire.account(row) for row in await accounts.of_caller(ctx)]


# accounts.unlink
async def unlink(ctx: Context, body: shapes.UnlinkAccountRequest) -> shapes.Status:
    """Remove one way to sign in."""
    await accounts.unlink(ctx, body.get("providerId"), body.get("accountId"))
    return {"status": True}
