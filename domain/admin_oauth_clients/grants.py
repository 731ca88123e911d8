"""List and end the grants that users have given to OAuth clients, for the operator. No permission is checked."""

from collections.abc import Mapping, Sequence

from domain.admin_oauth_clients import operator
from domain.context import Context
from domain.oauth_clients import clients, events
from domain.oauth_consents import consents
from domain.users import locking, lookup
from domain.users.errors import UserNotFound
from models.device_request import END_APPROVED_REQUESTS_OF_USER
from models.oauth_code import CODES_OF_USER
from models.oauth_consent import (
    END_CONSENTS_OF_CLIENT,
    REMOVE_CONSENT_FOR_CLIENT,
    REMOVE_CONSENTS_OF_USER,
)
from models.oauth_grant import END_GRANTS_OF_USER, GRANTS_OF_USER, GrantRow


async def list_of_user(ctx: Context, user: str) -> Sequence[GrantRow]:
    """Return the live grants of the user with this id, address or username, the newest first. Raises NotFound."""
    owner = await lookup.find(ctx, user)
    rows = await ctx.reads.all(GRANTS_OF_USER, owner.id)
    return sorted((row for row in rows if row.is_live(ctx.now)), key=lambda row: row.created_at, reverse=True)


async def names(ctx: Context, rows: Sequence[GrantRow]) -> Mapping[str, str]:
    """Return the names of the clients that hold these grants, by client id."""
    found = [await clients.read(ctx, client_id) for client_id in {row.client_id for row in rows}]
    return {client.client_id: client.client_name for client in found if client is not None}


async def revoke_of_user(ctx: Context, user: str, *, with_consents: bool = False) -> int:
    """End all grants of a user, with authorization codes and approved device requests that are not redeemed yet.

    `with_consents` also deletes the user's consents, so that clients must ask again. Returns the number of grants.
    Raises NotFound.
    """
    owner = await lookup.find(ctx, user)
    await locking.lock(ctx, owner.id)
    await ctx.db.execute(CODES_OF_USER, user_id=owner.id)
    await ctx.db.execute(END_APPROVED_REQUESTS_OF_USER, user_id=owner.id)
    number = len(await ctx.db.execute(END_GRANTS_OF_USER, user_id=owner.id))
    if with_consents:
        await ctx.db.execute(REMOVE_CONSENTS_OF_USER, user_id=owner.id)
    events.grants_revoked(ctx, number, user_id=owner.id)
    return number


async def revoke_of_client(ctx: Context, client_id: str, *, with_consents: bool = False) -> int:
    """End all grants and tokens of a client; return the number of grants. Raises ClientNotFound.

    `with_consents` also deletes the consents of users, so that the client must ask again.
    """
    client = await operator.find(ctx, client_id)
    number = await operator.end_grants(ctx, client)
    if with_consents:
        await ctx.db.execute(END_CONSENTS_OF_CLIENT, client_id=client.client_id)
    events.grants_revoked(ctx, number, client_id=client_id)
    return number


async def revoke_of_both(ctx: Context, user_id: str, client_id: str, *, with_consents: bool = False) -> int:
    """End the grants of a user to a client; return their number. Raises UserNotFound, ClientNotFound.

    `with_consents` also deletes the user's consent, so that the client must ask again.
    """
    if await locking.lock(ctx, user_id) is None:
        raise UserNotFound
    client = await operator.find(ctx, client_id)
    number = await consents.end_grants(ctx, user_id, client.client_id)
    if with_consents:
        await ctx.db.execute(REMOVE_CONSENT_FOR_CLIENT, user_id=user_id, client_id=client.client_id)
    events.grants_revoked(ctx, number, user_id=user_id, client_id=client.client_id)
    return number
