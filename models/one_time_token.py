"""The table `grant`: tokens and codes that can be used once, before they expire."""

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Index
from sqlmodel import Field

from models.base import Instant, Retention, Timestamped


class Purpose(StrEnum):
    """The purpose of a one-time token; it is not accepted for any other purpose.

    `SPENT` is different: it marks a provider's ID token that must not sign in again, and is the purpose of decoys.
    """

    RESET = "reset"
    VERIFY = "verify"
    CHANGE_EMAIL = "change-email"
    DELETE = "delete"
    CHALLENGE = "challenge"
    MAIL_CODE = "mail-code"
    OAUTH_STATE = "oauth-state"
    SPENT = "spent"


_TELLABLE = (Purpose.VERIFY, Purpose.CHANGE_EMAIL)
"""Kept for a while after expiry, so that TOKEN_EXPIRED can be distinguished from INVALID_TOKEN."""


class OneTimeToken(Timestamped, table=True):
    """A token by its digest; for an email code, the digest is that of the session or challenge it is bound to.

    For a spent ID token it is the digest of the signed part; the mark belongs to no user, so that it outlives them.
    """

    __tablename__ = "grant"
    __table_args__ = (Index(None, "user_id", "purpose"),)
    __export__ = "grants"
    __retention__ = (
        Retention("expires_at", where=lambda row: row.purpose.not_in(_TELLABLE)),
        Retention("expires_at", timedelta(days=7), where=lambda row: row.purpose.in_(_TELLABLE)),
    )

    digest: bytes = Field(primary_key=True)
    purpose: str
    user_id: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    code: bytes | None = None
    binding: bytes | None = None
    remembered: bool | None = None
    attempts: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    email: str | None = None
    payload: bytes | None = Field(default=None, repr=False)
    expires_at: datetime = Field(index=True, sa_type=Instant)
