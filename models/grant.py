"""The table `grant`: things that may be used once, within their time."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index
from sqlmodel import Field

from models.base import Instant, Timestamped


class Purpose(StrEnum):
    """What a grant is for; a token made for one purpose is worth nothing for another."""

    RESET = "reset"
    VERIFY = "verify"
    CHANGE_EMAIL = "change-email"
    DELETE = "delete"


class Grant(Timestamped, table=True):
    """A token that was handed out, by its digest."""

    __table_args__ = (Index(None, "user_id", "purpose"),)

    digest: bytes = Field(primary_key=True)
    purpose: str
    user_id: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    email: str | None = None
    expires_at: datetime = Field(index=True, sa_type=Instant)
