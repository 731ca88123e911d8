"""Polls of devices that wait for the decision of the user; one poll uses up the approved request (RFC 8628, 3.4)."""

from datetime import timedelta
from typing import NamedTuple

from domain import tokens
from domain.context import Context
from domain.device import events
from domain.device.errors import AuthorizationPending, ExpiredToken, SlowDown
from domain.oauth import consents
from domain.oauth_clients.errors import AccessDenied, InvalidGrant, UnauthorizedClient
from domain.oauth_clients.metadata import DEVICE_CODE
from domain.users import locking
from models.device_request import (
    DEVICE_REQUEST_BY_DEVICE_CODE,
    PACE_DEVICE_REQUEST,
    REDEEM_DEVICE_REQUEST,
    SLOW_DOWN_DEVICE_REQUEST,
    DeviceRow,
    DeviceStatus,
)
from models.oauth_client import ClientRow
from models.session import FIND_SESSION_ROW, SessionRow
from models.user import UserRow

_MORE = 5
"""Seconds that the interval grows by (RFC 8628, 3.5)."""


class Approval(NamedTuple):
    """A device request that was approved and is now used up. Its user is locked, with the session that approved it."""

    row: DeviceRow
    user: UserRow
    session: SessionRow


async def poll(ctx: Context, client: ClientRow, device_code: str, *, for_session: bool) -> Approval:
    """Use up the approved request of a device, named by its device code, and return the approval.

    `client` has authenticated itself. `for_session` means that the device gets a session instead of tokens: clients
    with `session_sign_in` get only sessions, all others only tokens.

    Raises AuthorizationPending (no decision yet), SlowDown (polled too soon), ExpiredToken, AccessDenied (the user
    refused), UnauthorizedClient (the client may not use device codes, or not for this), and InvalidGrant (the request
    is unknown, used up or of another client, or the approval has ended).
    """
    metadata = client.metadata
    # A user who was tricked into an approval must not have given away a whole session.
    # defence: O20 session-clients
    if DEVICE_CODE not in metadata["grant_types"] or metadata.get("session_sign_in", False) != for_session:
        raise UnauthorizedClient
    row = await ctx.reads.one(DEVICE_REQUEST_BY_DEVICE_CODE, tokens.digest(device_code))
    # defence: O19 other-client
    if row is None or row.client_id != client.client_id or row.status == DeviceStatus.REDEEMED:
        raise InvalidGrant
    user = None
    if row.status == DeviceStatus.APPROVED and row.user_id is not None and row.session_id is not None:
        # Users are locked before anything else, and with their session: none is given for one that has ended.
        user = await locking.lock_with_session(ctx, row.user_id, row.session_id)  # defence: O16 live-session
    await _pace(ctx, row)
    if row.expires_at <= ctx.now:
        raise ExpiredToken
    if row.status == DeviceStatus.DENIED:
        raise AccessDenied
    if row.status == DeviceStatus.PENDING:
        raise AuthorizationPending
    if user is None or not await _is_consented(ctx, row, user):
        raise InvalidGrant
    if not await ctx.db.execute(REDEEM_DEVICE_REQUEST, code=row.device_code, now=ctx.now):
        raise InvalidGrant
    events.redeemed(ctx, row)
    session = (await ctx.db.execute(FIND_SESSION_ROW, id=row.session_id)).first()
    return Approval(row, user, session)


async def _pace(ctx: Context, row: DeviceRow) -> None:
    """Note the poll. Raises SlowDown if it comes too early; then the interval grows."""
    latest = ctx.now - timedelta(seconds=row.interval)
    paced = await ctx.db.execute(
        PACE_DEVICE_REQUEST, code=row.device_code, seen=row.interval, latest=latest, now=ctx.now
    )
    if not paced:
        await ctx.db.execute(SLOW_DOWN_DEVICE_REQUEST, code=row.device_code, more=_MORE, now=ctx.now)
        raise SlowDown


async def _is_consented(ctx: Context, row: DeviceRow, user: UserRow) -> bool:
    """Return whether the consent of the approval was not revoked meanwhile."""
    return not row.scopes or await consents.covers(
        ctx, user.id, row.client_id, row.scopes.split(), row.resources.split()
    )
