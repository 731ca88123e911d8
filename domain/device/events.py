"""Audit events of devices."""

from domain.audit.record import Event, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from models.device_request import DeviceRow

STARTED = Event("device.started", N_("A device asked for access"), in_history=False, unbounded=True)
APPROVED = Event("device.approved", N_("A device was given access"))
DENIED = Event("device.denied", N_("A device was refused access"))
REDEEMED = Event("device.redeemed", N_("A device received its access"))

DEVICE = AuthenticationMethod("device", N_("Code of a device"))


def started(ctx: Context, client_id: str) -> None:
    """Record that a device asked for access."""
    record(ctx, STARTED, client=client_id)


def approved(ctx: Context, row: DeviceRow) -> None:
    """Record that the caller has given a device access."""
    record(ctx, APPROVED, client=row.client_id, network=row.network)


def denied(ctx: Context, row: DeviceRow) -> None:
    """Record that the caller has refused a device access."""
    record(ctx, DENIED, client=row.client_id, network=row.network)


def redeemed(ctx: Context, row: DeviceRow) -> None:
    """Record that a device has received its tokens or its session."""
    record(
        ctx,
        REDEEMED,
        user_id=row.user_id,
        actor_id=row.user_id,
        session_id=row.session_id,
        client=row.client_id,
    )
