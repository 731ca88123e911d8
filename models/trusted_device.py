"""The table `trusted_device`: browsers that skip the second factor."""

from datetime import datetime

from sqlmodel import Field

from models.base import Instant, Record, Retention


class TrustedDevice(Record, table=True):
    """One browser, by the digest of the token in its cookie."""

    __tablename__ = "trusted_device"
    __export__ = "trustedDevices"
    __retention__ = (Retention("expires_at"),)

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    digest: bytes = Field(unique=True)
    expires_at: datetime = Field(index=True, sa_type=Instant)
