"""The table `user`."""

from datetime import datetime

from sqlmodel import Field

from models.base import Instant, Record


def ban_holds(banned: bool, expires: datetime | None, now: datetime) -> bool:
    """Return whether a ban is active at `now`."""
    return banned and (expires is None or now < expires)  # defence: V33 ban-expiry


class User(Record, table=True):
    """A person with an account. `email` and `username` are stored in lower case."""

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

    def is_banned(self, now: datetime) -> bool:
        """Return whether the user is banned at `now`."""
        return ban_holds(self.banned, self.ban_expires, now)
