"""The table `session`: who is signed in where."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlmodel import Field

from models.base import ENCRYPTED, Access, Instant, Record, Retention


def _where_set(column: str) -> Index:
    """Return the index of a column that few sessions have."""
    where = text(f"{column} IS NOT NULL")
    return Index(None, column, postgresql_where=where, sqlite_where=where)


class Session(Record, table=True):
    """One sign-in on one device. The token is never stored in plain text."""

    __table_args__ = (_where_set("impersonated_by"), _where_set("impersonator_session_id"))
    __export__ = "sessions"
    __retention__ = (Retention("expires_at"),)  # defence: R41 expired-sessions
    __access__ = (Access("sessions", "sessions", expiry="expires_at"),)  # defence: M5 sessions

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    token_digest: bytes = Field(unique=True, repr=False)
    token_copy: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    remembered: bool = True
    method: str
    amr: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    """What was proved when the session was created (RFC 8176), separated by spaces; empty if not known."""
    expires_at: datetime = Field(index=True, sa_type=Instant)
    ip_address: str | None = None
    user_agent: str | None = None
    impersonated_by: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE")
    """The administrator who opened the session in the user's name."""
    impersonator_session_id: str | None = Field(
        default=None, foreign_key="session.id", ondelete="CASCADE", max_length=32
    )
    """The administrator's own session."""
    active_organization_id: str | None = None
