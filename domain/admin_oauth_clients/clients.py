"""Create, list, change and delete OAuth clients, for administrators of the service and for users who own clients."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.admin import permissions
from domain.admin_oauth_clients import operator
from domain.context import Context
from domain.errors import Forbidden
from domain.oauth_clients.errors import ClientNotFound
from domain.oauth_clients.policy import ClientPolicy
from domain.sessions import expiry
from domain.sessions.policy import SessionPolicy
from domain.users import locking
from models.oauth_client import CLIENTS_OF_OWNER, ClientRow, ClientSource


async def create(
    ctx: Context, sent: Mapping[str, Any], form: str | None = None
) -> tuple[ClientRow, str | None]:
    """Create a client with the metadata `sent`; return the client and its secret, None if it has no secret.

    `form` is the random text of a form, None without a form: a form that is sent twice creates one client, and the
    second request raises StaleClient. Raises Forbidden, TwoFactorRequired, SessionNotFresh,
    InvalidClientMetadata, InvalidRedirectUri, StaleClient.
    """
    owner_id = _require(ctx, fresh=True)
    if form is not None:
        await locking.lock_caller(ctx)  # Of two copies of a form one waits for the other.
    return await operator.create(ctx, sent, _source(owner_id), owner_id=owner_id, form=form)


async def list_all(ctx: Context) -> Sequence[ClientRow]:
    """Return the clients that the caller may manage, newest first, at most 1,000.

    Raises Forbidden, TwoFactorRequired.
    """
    owner_id = _require(ctx)
    if owner_id is None:
        return await operator.list_clients(ctx)
    return await ctx.db.execute(CLIENTS_OF_OWNER, owner_id=owner_id)


async def read(ctx: Context, client_id: str, *, fresh: bool = False) -> ClientRow:
    """Return a client that the caller may manage; with `fresh`, the session must be fresh.

    Raises ClientNotFound, also for a client of another user, Forbidden, TwoFactorRequired, SessionNotFresh.
    """
    owner_id = _require(ctx, fresh=fresh)
    row = await operator.find(ctx, client_id)
    if owner_id is not None and row.owner_id != owner_id:  # defence: O14 owner-read
        raise ClientNotFound
    return row


async def update(
    ctx: Context,
    client_id: str,
    sent: Mapping[str, Any],
    *,
    is_disabled: bool | None = None,
    seen: str | None = None,
) -> ClientRow:
    """Change the metadata of a client, and whether it is disabled; return the client.

    `sent` has the members of the metadata to change; None removes a member. `is_disabled` of None changes nothing.
    `seen` is the `operator.version` that a form was shown with, None without a form. Raises Forbidden,
    TwoFactorRequired, SessionNotFresh, ClientNotFound, ClientReadOnly, InvalidClientMetadata, InvalidRedirectUri,
    StaleClient.
    """
    owner_id = _require(ctx, fresh=True)
    return await operator.update(
        ctx, client_id, sent, _source(owner_id), owner_id=owner_id, is_disabled=is_disabled, seen=seen
    )


async def rotate_secret(ctx: Context, client_id: str, *, seen: str | None = None) -> tuple[ClientRow, str]:
    """Replace the secret of a client; return the client and the new secret. The old secret is accepted for 24 hours.

    `seen` is the `operator.version` that a form was shown with, None without a form. Raises Forbidden,
    TwoFactorRequired, SessionNotFresh, ClientNotFound, ClientReadOnly, InvalidClientMetadata if the client has no
    secret, StaleClient.
    """
    return await operator.rotate_secret(ctx, client_id, owner_id=_require(ctx, fresh=True), seen=seen)


async def remove(ctx: Context, client_id: str) -> None:
    """Delete a client with its grants, tokens and consents.

    Raises Forbidden, TwoFactorRequired, SessionNotFresh, ClientNotFound, ClientReadOnly.
    """
    await operator.remove(ctx, client_id, owner_id=_require(ctx, fresh=True))


def _require(ctx: Context, *, fresh: bool = False) -> str | None:
    """Check that the caller may manage clients; return the user who must own them, or None for an administrator.

    Raises Forbidden, TwoFactorRequired, SessionNotFresh.
    """
    if ctx.policy[ClientPolicy].client_management == "admin":
        permissions.require(ctx, "service", "manage", Forbidden, fresh=fresh)  # defence: O14 permission
        return None
    if fresh:
        expiry.require_fresh(ctx.policy[SessionPolicy], ctx.signed_in, ctx.now)  # defence: O14 fresh
    return ctx.signed_in.user.id


def _source(owner_id: str | None) -> ClientSource:
    return ClientSource.ADMIN if owner_id is None else ClientSource.USER
