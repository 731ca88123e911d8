"""The table `two_factor`: a user's second factor, and the count of wrong codes."""

from datetime import datetime

from sqlmodel import Field

from models.base import ENCRYPTED, Access, Instant, Timestamped


class TwoFactor(Timestamped, table=True):
    """The secret of a user's authenticator, encrypted; `new_secret` is that of a pending enrolment.

    A user with email codes only has a row too: it counts wrong codes and holds the lock.
    """

    __tablename__ = "two_factor"
    __export__ = "twoFactor"
    # A user without a second factor has a row of a pending enrolment, whose secret is known to its author.
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
