"""The table `session`: who is signed in where."""

from datetime import datetime

from sqlmodel import Field

from models.base import ENCRYPTED, Instant, Record, Retention


class Session(Record, table=True):
    """One sign-in on one device. The token is never stored in plain text."""

    __export__ = "sessions"
    __retention__ = (Retention("expires_at"),)  # defence: R41 expired-sessions

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    token_digest: bytes = Field(unique=True, repr=False)
    token_copy: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    remembered: bool = True
    method: str
    expires_at: datetime = Field(index=True, sa_type=Instant)
    ip_address: str | None = None
    user_agent: str | None = None
    impersonated_by: str | None = None
    active_organization_id: str | None = None
