"""The table `device_request`: devices that wait for the approval of a user (RFC 8628)."""

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete
from sqlmodel import Field

from models.base import Instant, Retention, Timestamped
from models.statements import insert, is_, table_of


class DeviceStatus(StrEnum):
    """What became of a request."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    REDEEMED = "redeemed"


class DeviceRequest(Timestamped, table=True):
    """One request, by the digest of its device code and the keyed digest of its short user code."""

    __tablename__ = "device_request"
    # Kept for a while after expiry, so that EXPIRED_USER_CODE can be distinguished from INVALID_USER_CODE.
    __retention__ = (Retention("expires_at", timedelta(minutes=10)),)

    device_code: bytes = Field(primary_key=True)
    user_code: bytes = Field(unique=True)
    client_id: str = Field(
        foreign_key="oauth_client.client_id", ondelete="CASCADE", index=True, max_length=512
    )
    scopes: str
    resources: str = ""
    status: str = Field(default=DeviceStatus.PENDING, max_length=16)
    user_id: str | None = Field(
        default=None, foreign_key="user.id", ondelete="CASCADE", index=True, max_length=32
    )
    session_id: str | None = Field(
        default=None, foreign_key="session.id", ondelete="CASCADE", index=True, max_length=32
    )
    """The session that has approved it: its end ends the approval."""
    interval: int
    """Seconds between two polls; it grows when the device polls too fast."""
    last_polled_at: datetime | None = Field(default=None, sa_type=Instant)
    network: str | None = Field(default=None, max_length=64)
    user_agent: str | None = None
    expires_at: datetime = Field(index=True, sa_type=Instant)


ADD_DEVICE_REQUEST = insert(DeviceRequest)

END_REQUESTS_OF_CLIENT = delete(table_of(DeviceRequest)).where(is_(DeviceRequest.client_id, "client_id"))
"""Delete the requests of `client_id`."""
