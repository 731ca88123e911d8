"""The table `two_factor`: a user's second factor, and the count of wrong codes."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import Field, col

from models.base import ENCRYPTED, Access, Instant, Timestamped
from models.statements import is_


class TwoFactor(Timestamped, table=True):
    """The secret of a user's authenticator, encrypted; `new_secret` is that of a pending enrolment.

    A user who has only email codes also has a row, for the count of wrong codes and the lock.
    """

    __tablename__ = "two_factor"
    __export__ = "twoFactor"
    # A user without a second factor has this row during an enrolment; a stranger who began it knows the secret.
    __access__ = (Access("second_factors"),)  # defence: M5 second-factors

    user_id: str = Field(primary_key=True, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    secret: bytes | None = Field(default=None, sa_column_kwargs=ENCRYPTED)  # defence: R44 columns
    confirmed: bool = False
    issuer: str | None = None
    last_step: int | None = None
    failures: int = 0
    locked_until: datetime | None = Field(default=None, sa_type=Instant)
    new_secret: bytes | None = Field(default=None, sa_column_kwargs=ENCRYPTED)
    new_issuer: str | None = None


class TwoFactorRow(NamedTuple):
    """A user's second factor as read by a statement; the fields are those of `TwoFactor`."""

    user_id: str
    secret: bytes | None
    confirmed: bool
    issuer: str | None
    last_step: int | None
    failures: int
    locked_until: datetime | None
    new_secret: bytes | None
    new_issuer: str | None

    def is_enrolling(self) -> bool:
        """Whether there is a pending secret."""
        return self.new_secret is not None or (self.secret is not None and not self.confirmed)

    def has_live_secret(self) -> bool:
        """Whether codes of an authenticator are accepted."""
        return self.secret is not None and self.confirmed


TWO_FACTOR_OF_USER = (
    select(*(col(getattr(TwoFactor, name)) for name in TwoFactorRow._fields))
    .where(is_(TwoFactor.user_id, "user_id"))
    .execution_options(row=TwoFactorRow)
)
"""The stored second factor of a user."""
