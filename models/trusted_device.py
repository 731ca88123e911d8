"""The table `trusted_device`: browsers that skip the second factor."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import Field, col

from models.base import Access, Instant, Record, Retention
from models.queries import ReadStatement, by


class TrustedDevice(Record, table=True):
    """One browser, identified by the digest of the token in its cookie."""

    __tablename__ = "trusted_device"
    __export__ = "trustedDevices"
    __retention__ = (Retention("expires_at"),)
    __access__ = (Access("trusted_devices", "trusted devices", expiry="expires_at"),)  # defence: M5 devices

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    digest: bytes = Field(unique=True)
    expires_at: datetime = Field(index=True, sa_type=Instant)


class TrustedDeviceRow(NamedTuple):
    """A trusted device as read by a query; `updated_at` is the time of its last use."""

    id: str
    digest: bytes
    expires_at: datetime
    created_at: datetime
    updated_at: datetime


TRUSTED_DEVICES_OF_USER = ReadStatement(
    select(*(col(getattr(TrustedDevice, name)) for name in TrustedDeviceRow._fields)).where(
        by(TrustedDevice.user_id)
    ),
    TrustedDeviceRow._make,
)
"""Every trusted device of a user, unsorted, expired ones included."""
