"""Trusted devices: browsers that skip the second factor for 30 days."""

from collections.abc import Sequence
from operator import attrgetter

from sqlalchemy import delete, select, update
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.trusted_devices import events
from domain.trusted_devices.policy import TrustedDevicePolicy
from domain.users import locking
from models import TrustedDevice
from models.trusted_device import TRUSTED_DEVICES_OF_USER, TrustedDeviceRow


def trust(ctx: Context, user_id: str, method: str) -> str:
    """Trust the browser of this request after a valid second factor; return the token for its cookie."""
    token = tokens.token()
    ctx.db.add(
        TrustedDevice(
            id=tokens.token(),
            user_id=user_id,
            digest=tokens.digest(token),
            expires_at=ctx.now + ctx.policy[TrustedDevicePolicy].trust_expires_in,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    events.device_trusted(ctx, user_id, method)
    return token


async def rotate(ctx: Context, user_id: str) -> str | None:
    """Replace the token of the trusted device that sent the request, if it is one of this user.

    Return the new token for the cookie; the old one becomes invalid. None if the request comes from no trusted device.
    """
    presented = tokens.presented(ctx.cookies.devices)
    if len(presented) > 1:
        # Browsers also send cookies of the same name that a parent domain has set; a dead one must not disable the
        # live one.
        presented = await _live(ctx, presented)
    if len(presented) != 1:  # defence: V41 one-device
        return None
    token = tokens.token()
    rotated = (
        update(TrustedDevice)
        .where(
            col(TrustedDevice.digest) == tokens.digest(presented[0]),
            col(TrustedDevice.user_id) == user_id,
            # The cookie's Max-Age binds only the browser, not a person who has copied the cookie.
            col(TrustedDevice.expires_at) > ctx.now,  # defence: V52 device-expiry
        )
        .values(
            # Replaced at each use, so that a value that was used once cannot be used again.
            digest=tokens.digest(token),  # defence: V52 R19 device-digest
            expires_at=ctx.now + ctx.policy[TrustedDevicePolicy].trust_expires_in,
            updated_at=ctx.now,
        )
        .returning(col(TrustedDevice.id))
    )
    return token if (await ctx.db.execute(rotated)).first() is not None else None


async def is_dead(ctx: Context) -> bool:
    """Return whether the request has device cookies, but none of them belongs to a trusted device of any user."""
    sent = ctx.cookies.devices
    return bool(sent) and not await _live(ctx, tokens.presented(sent))


async def _live(ctx: Context, presented: Sequence[str]) -> list[str]:
    """Return the tokens that belong to a trusted device of any user."""
    if not presented:
        return []
    by_digest = {tokens.digest(token): token for token in presented}
    live = select(col(TrustedDevice.digest)).where(
        col(TrustedDevice.digest).in_(by_digest), col(TrustedDevice.expires_at) > ctx.now
    )
    return [by_digest[digest] for digest in (await ctx.db.execute(live)).scalars()]


async def of_caller(ctx: Context) -> list[TrustedDeviceRow]:
    """Return the trusted devices of the caller, the most recently used first."""
    rows = await ctx.reads.all(TRUSTED_DEVICES_OF_USER, ctx.signed_in.user.id)
    live = [row for row in rows if row.expires_at > ctx.now]
    return sorted(live, key=attrgetter("updated_at", "id"), reverse=True)


def is_presented(ctx: Context, device: TrustedDeviceRow) -> bool:
    """Return whether this request comes from the trusted device."""
    return device.digest in {tokens.digest(token) for token in ctx.cookies.devices}


async def forget(ctx: Context, device_id: str) -> bool:
    """Revoke one trusted device of the caller; return whether it existed. Raises Unauthenticated."""
    user = await locking.lock_caller(ctx)
    gone = delete(TrustedDevice).where(
        col(TrustedDevice.id) == device_id,
        col(TrustedDevice.user_id) == user.id,  # defence: V22 device-owner
    )
    if not await ctx.db.execute(gone.returning(col(TrustedDevice.id))):
        return False
    events.trusted_devices_removed(ctx, user.id, 1)
    return True


async def forget_all_of_caller(ctx: Context) -> None:
    """Revoke all trusted devices of the caller. Raises Unauthenticated."""
    user = await locking.lock_caller(ctx)
    await forget_all(ctx, user.id)


async def forget_all(ctx: Context, user_id: str) -> None:
    """Revoke all trusted devices of the user."""
    gone = delete(TrustedDevice).where(col(TrustedDevice.user_id) == user_id).returning(col(TrustedDevice.id))
    devices = await ctx.db.execute(gone)
    if devices:
        events.trusted_devices_removed(ctx, user_id, len(devices))


async def forget_all_users(ctx: Context) -> None:
    """Revoke all trusted devices of all users."""
    await ctx.db.execute(delete(TrustedDevice))
