"""Audit events about trusted devices."""

from domain.audit.record import Event, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish

TRUSTED_DEVICE_ADDED = Event("trusted_device.added", N_("A device was trusted"))
TRUSTED_DEVICE_USED = Event("trusted_device.used", N_("A trusted device skipped the second factor"))
TRUSTED_DEVICE_REMOVED = Event("trusted_device.removed", N_("A trusted device was removed"))

TRUSTED_DEVICE = AuthenticationMethod("trusted_device", N_("Trusted device"))

WEBHOOK_ADDED = EventType("trusted_device.added")


def device_trusted(ctx: Context, user_id: str, method: str) -> None:
    """Record and publish that a device is trusted after a code of this method, so that it skips the second factor."""
    record(ctx, TRUSTED_DEVICE_ADDED, user_id=user_id, actor_id=user_id)
    publish(ctx, WEBHOOK_ADDED, user_id=user_id, method=method)


def trusted_device_used(ctx: Context, user_id: str) -> None:
    """Record that a trusted device skipped the second factor."""
    record(ctx, TRUSTED_DEVICE_USED, user_id=user_id, actor_id=user_id, method=TRUSTED_DEVICE.name)


def trusted_devices_removed(ctx: Context, user_id: str, devices: int) -> None:
    """Record that trusted devices of the user were revoked; `devices` is their number."""
    record(ctx, TRUSTED_DEVICE_REMOVED, user_id=user_id, devices=devices)
