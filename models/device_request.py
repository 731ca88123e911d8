"""The table `device_request`: devices that wait for the approval of a user (RFC 8628)."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Integer, bindparam, delete, or_, select, update
from sqlmodel import Field, col

from models.base import Access, Instant, Retention, Timestamped
from models.queries import ReadStatement, by
from models.statements import insert, is_, table_of


class DeviceStatus(StrEnum):
    """The state of a device's request."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    REDEEMED = "redeemed"


class DeviceRequest(Timestamped, table=True):
    """One request. Its two codes are stored only as digests: a keyed one for the short user code."""

    __tablename__ = "device_request"
    __export__ = "deviceRequests"
    # Kept for a while after expiry, so that EXPIRED_USER_CODE can be distinguished from INVALID_USER_CODE.
    __retention__ = (Retention("expires_at", timedelta(minutes=10)),)
    __access__ = (Access("device_requests", None, expiry="expires_at"),)

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
    """The session in which the request was approved. The request is deleted with the session."""
    interval: int
    """Seconds between two polls; it grows when the device polls too fast."""
    last_polled_at: datetime | None = Field(default=None, sa_type=Instant)
    network: str | None = Field(default=None, max_length=64)
    user_agent: str | None = None
    expires_at: datetime = Field(index=True, sa_type=Instant)


class DeviceRow(NamedTuple):
    """A request as read by a query; the fields are those of `DeviceRequest`."""

    device_code: bytes
    user_code: bytes
    client_id: str
    scopes: str
    resources: str
    status: str
    user_id: str | None
    session_id: str | None
    interval: int
    last_polled_at: datetime | None
    network: str | None
    user_agent: str | None
    expires_at: datetime
    created_at: datetime
    updated_at: datetime


_COLUMNS = tuple(col(getattr(DeviceRequest, name)) for name in DeviceRow._fields)
_NOW = bindparam("now", type_=Instant())

DEVICE_REQUEST_BY_DEVICE_CODE = ReadStatement(
    select(*_COLUMNS).where(by(DeviceRequest.device_code)), DeviceRow._make, key=DeviceRequest.device_code
)
"""The request with a digest of its device code, expired or not."""

DEVICE_REQUEST_BY_USER_CODE = ReadStatement(
    select(*_COLUMNS).where(by(DeviceRequest.user_code)), DeviceRow._make, key=DeviceRequest.user_code
)
"""The request with a keyed digest of its user code, expired or not."""

ADD_DEVICE_REQUEST = insert(DeviceRequest)

DECIDE_DEVICE_REQUEST = (
    update(table_of(DeviceRequest))
    .where(
        is_(DeviceRequest.device_code, "code"),
        # Of an approval and a denial at once one finds the request pending.
        col(DeviceRequest.status) == DeviceStatus.PENDING,  # defence: O19 decided-once
        col(DeviceRequest.expires_at) > _NOW,
    )
    .values(
        status=bindparam("decision"),
        user_id=bindparam("decided_by"),
        session_id=bindparam("decided_in"),
        updated_at=_NOW,
    )
    .returning(col(DeviceRequest.client_id))
)
"""Set the `decision` of the user `decided_by` in the session `decided_in` about the pending request `code`."""

PACE_DEVICE_REQUEST = (
    update(table_of(DeviceRequest))
    .where(
        is_(DeviceRequest.device_code, "code"),
        # The row may have been polled since it was read; then `latest` does not belong to it.
        col(DeviceRequest.interval) == bindparam("seen", type_=Integer()),
        or_(
            col(DeviceRequest.last_polled_at).is_(None),
            col(DeviceRequest.last_polled_at) <= bindparam("latest", type_=Instant()),  # defence: O19 pace
        ),
    )
    .values(last_polled_at=_NOW, updated_at=_NOW)
    .returning(col(DeviceRequest.device_code))
)
"""Store a poll of the request `code`, if the poll before was at `latest` or earlier; return a row if so.

`seen` is the interval that was read.
"""

SLOW_DOWN_DEVICE_REQUEST = (
    update(table_of(DeviceRequest))
    .where(is_(DeviceRequest.device_code, "code"))
    .values(
        interval=col(DeviceRequest.interval) + bindparam("more", type_=Integer()),
        last_polled_at=_NOW,
        updated_at=_NOW,
    )
)
"""Store a poll of the request `code` that came too early, and make its interval longer by `more` seconds."""

REDEEM_DEVICE_REQUEST = (
    update(table_of(DeviceRequest))
    .where(
        is_(DeviceRequest.device_code, "code"),
        col(DeviceRequest.status) == DeviceStatus.APPROVED,  # defence: O19 redeemed-once
        col(DeviceRequest.expires_at) > _NOW,
    )
    .values(status=DeviceStatus.REDEEMED, updated_at=_NOW)
    .returning(col(DeviceRequest.device_code))
)
"""Mark the approved request `code` as redeemed. Of simultaneous polls only one gets a row back."""

END_REQUESTS_OF_CLIENT = delete(table_of(DeviceRequest)).where(is_(DeviceRequest.client_id, "client_id"))
"""Delete the requests of `client_id`."""

END_APPROVED_REQUESTS_OF_USER = delete(table_of(DeviceRequest)).where(
    is_(DeviceRequest.user_id, "user_id"), col(DeviceRequest.status) == DeviceStatus.APPROVED.value
)
"""Delete the requests that `user_id` has approved, and that were not redeemed yet."""

END_APPROVED_REQUESTS = END_APPROVED_REQUESTS_OF_USER.where(is_(DeviceRequest.client_id, "client_id"))
"""Delete the requests of `client_id` that `user_id` has approved, and that were not redeemed yet."""
