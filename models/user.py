"""The table `user`: the people who have an account."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, or_, select, text, update
from sqlmodel import Field, col

from models.base import Instant, Record
from models.queries import ReadStatement, by
from models.statements import is_, table_of


def ban_holds(banned: bool, expires: datetime | None, now: datetime) -> bool:
    """Return whether a ban is active at `now`."""
    return banned and (expires is None or now < expires)  # defence: V33 ban-expiry


BY_DIALECT = frozenset({"ix_user_name_id", "ix_user_email_pattern", "ix_user_name_pattern"})
"""The indexes that differ between databases or index expressions. They are declared only in their migration."""


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


class UserRow(NamedTuple):
    """A user as read by a query; the fields are those of `User`."""

    id: str
    name: str
    email: str
    email_verified: bool
    image: str | None
    created_at: datetime
    updated_at: datetime
    username: str | None
    display_username: str | None
    two_factor_enabled: bool
    role: str
    banned: bool
    ban_reason: str | None
    ban_expires: datetime | None
    locale: str | None = None

    def is_banned(self, now: datetime) -> bool:
        """Return whether a ban is active at `now`."""
        return ban_holds(self.banned, self.ban_expires, now)


USER_COLUMNS = tuple(col(getattr(User, name)) for name in UserRow._fields)
"""The columns of a `UserRow`."""

USER_BY_ID = ReadStatement(select(*USER_COLUMNS).where(by(User.id)), UserRow._make, key=User.id)
"""A user, by id."""

SELECT_USER = select(*USER_COLUMNS).execution_options(row=UserRow)
"""All users as `UserRow`; callers add conditions."""

# FOR NO KEY UPDATE: rows that refer to a locked user can still be inserted. With FOR UPDATE, fifteen members who
# created API keys at once, each with an email to the owner, lost up to 4 s in deadlocks.
LOCK_USER = SELECT_USER.where(is_(User.id, "id")).with_for_update(key_share=True)

LOCK_USER_BY_EMAIL = SELECT_USER.where(is_(User.email, "email")).with_for_update(key_share=True)
"""The user with an `email`, locked until the transaction ends; `LOCK_USER` locks the user with an `id`."""

FIND_USER = SELECT_USER.where(
    or_(is_(User.id, "id"), is_(User.email, "lowered"), is_(User.username, "lowered"))
)
"""The user with the `id`, or with the email address or username `lowered`."""

FIND_USER_BY_EMAIL = SELECT_USER.where(is_(User.email, "email"))
"""The user of an `email`, not locked."""

CHANGE_USER = update(table_of(User)).where(is_(User.id, "whose"))
"""Set the given columns of the user with the id `whose`."""
