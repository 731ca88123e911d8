"""The table `user`."""

from datetime import datetime

from sqlalchemy import Index, text
from sqlmodel import Field

from models.base import Instant, Record


def ban_holds(banned: bool, expires: datetime | None, now: datetime) -> bool:
    """Return whether a ban is active at `now`."""
    return banned and (expires is None or now < expires)  # defence: V33 ban-expiry


BY_DIALECT = frozenset({"ix_user_name_id", "ix_user_email_pattern", "ix_user_name_pattern"})
"""The indexes that differ between databases, or are of expressions: only their migration knows them."""


class User(Record, table=True):
    """A person with an account. `email` and `username` are stored in lower case."""

    __table_args__ = (
        Index(None, "created_at", "id"),
        Index(None, "updated_at", "id"),
        Index(None, "role", "created_at", "id"),
        Index(
            "ix_user_ban_expires_id",
            "ban_expires",
            "id",
            postgresql_where=text("banned"),
            sqlite_where=text("banned"),
        ),
    )

    name: str
    email: str = Field(unique=True)
    email_verified: bool = False
    image: str | None = None
    username: str | None = Field(default=None, unique=True)
    display_username: str | None = None
    two_factor_enabled: bool = False
    role: str = "user"
    banned: bool = False
    ban_reason: str | None = None
    ban_expires: datetime | None = Field(default=None, sa_type=Instant)
    locale: str | None = None

    def is_banned(self, now: datetime) -> bool:
        """Return whether the user is banned at `now`."""
        return ban_holds(self.banned, self.ban_expires, now)
