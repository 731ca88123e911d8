"""The table `account`: the ways a user may sign in, the password among them."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from models.base import ENCRYPTED, Access, Instant, Record

CREDENTIAL = "credential"
"""The provider id of the account that holds the password."""


class Account(Record, table=True):
    """One identity of a user: (provider, issuer, subject). The credential account's subject is the user's id."""

    __export__ = "accounts"
    # defence: M5 accounts
    __access__ = (
        Access("passwords", "ways to sign in", where=lambda row: row.provider_id == CREDENTIAL),
        Access("accounts", "ways to sign in", where=lambda row: row.provider_id != CREDENTIAL),
    )
    __table_args__ = (UniqueConstraint("provider_id", "issuer", "account_id"),)

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    provider_id: str
    issuer: str = ""
    account_id: str
    password: str | None = Field(default=None, repr=False)
    access_token: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    refresh_token: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    id_token: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    token_type: str | None = None
    scope: str | None = None
    access_token_expires_at: datetime | None = Field(default=None, sa_type=Instant)
    refresh_token_expires_at: datetime | None = Field(default=None, sa_type=Instant)
    refresh_lease_until: datetime | None = Field(default=None, sa_type=Instant)
