"""The table `initial_access_token`: tokens that let a program register clients (RFC 7591, section 3)."""

from datetime import datetime

from sqlmodel import Field

from models.base import Instant, Record, Retention


class InitialAccessToken(Record, table=True):
    """One token, by its digest."""

    __tablename__ = "initial_access_token"
    __retention__ = (Retention("expires_at"),)

    token: bytes = Field(unique=True)
    label: str = Field(max_length=64)
    uses_left: int
    expires_at: datetime = Field(index=True, sa_type=Instant)
