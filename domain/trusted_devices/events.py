"""Audit events about trusted devices."""

from domain.audit.record import Event, record
from domain.context import Context

TRUSTED_DEVICE_ADDED = Event("trusted_device.added")
TRUSTED_DEVICE_USED = Event("trusted_device.used")
TRUSTED_DEVICE_REMOVED = Event("trusted_device.removed")


def device_trusted(ctx: Context, user_id: str) -> None:
    """A device was trusted: it skips the second factor from now on."""
    record(ctx, TRUSTED_DEVICE_ADDED, user_id=user_id, actor_id=user_id)


def trusted_device_used(ctx: Context, user_id: str) -> None:
    """A trusted device skipped the second factor."""
    record(ctx, TRUSTED_DEVICE_USED, user_id=user_id, actor_id=user_id, method="trusted_device")


def trusted_devices_removed(ctx: Context, user_id: str, devices: int) -> None:
    """This number of trusted devices of the user were revoked."""
    record(ctx, TRUSTED_DEVICE_REMOVED, user_id=user_id, devices=devices)
