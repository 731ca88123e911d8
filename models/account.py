"""The table `account`: the password of a user and their identities at providers."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import UniqueConstraint, bindparam, select, update
from sqlmodel import Field, col

from models.base import ENCRYPTED, Access, Instant, Record
from models.queries import ReadStatement, by
from models.statements import is_, table_of
from models.user import User

CREDENTIAL = "credential"
"""The provider id of the account that holds the password."""


class Account(Record, table=True):
    """One identity of a user: provider, issuer, and `account_id`, the subject there.

    The account with the provider `CREDENTIAL` holds the password; its `account_id` is the user's id.
    """

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


class PasswordRow(NamedTuple):
    """The id of a user, and the stored hash to check a password against (None if the user has no password)."""

    user_id: str
    hash: str | None


PASSWORD_ACCOUNT = (col(Account.user_id) == col(User.id)) & (col(Account.provider_id) == CREDENTIAL)
"""Joins a user with the account that holds their password."""


def _password_by(column: Any) -> ReadStatement[PasswordRow]:
    columns = select(col(User.id), col(Account.password))
    return ReadStatement(
        columns.join(Account, PASSWORD_ACCOUNT, isouter=True).where(by(column)), PasswordRow._make
    )


PASSWORD_BY_EMAIL = _password_by(User.email)

PASSWORD_BY_USERNAME = _password_by(User.username)

PASSWORD_BY_USER = _password_by(User.id)
"""The queries for a `PasswordRow`: by lower-case email, by lower-case username, and by user id."""


class AccountRow(NamedTuple):
    """A linked account as read by a query; the fields are those of `Account`, without the password."""

    id: str
    user_id: str
    provider_id: str
    issuer: str
    account_id: str
    access_token: bytes | None
    refresh_token: bytes | None
    id_token: bytes | None
    token_type: str | None
    scope: str | None
    access_token_expires_at: datetime | None
    refresh_token_expires_at: datetime | None
    refresh_lease_until: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def scopes(self) -> list[str]:
        """The granted scopes as a list."""
        return (self.scope or "").split()


ACCOUNT_COLUMNS = tuple(col(getattr(Account, name)) for name in AccountRow._fields)
"""The columns of an `AccountRow`."""

# defence: V14 accounts-of-user
ACCOUNTS_OF_USER = ReadStatement(
    select(*ACCOUNT_COLUMNS).where(by(Account.user_id)), AccountRow._make, key=Account.user_id
)
"""Every account of a user, unsorted."""

ACCOUNT_BY_ID = ReadStatement(select(*ACCOUNT_COLUMNS).where(by(Account.id)), AccountRow._make)
"""The account with an id."""

LOCK_UNCHANGED = (
    select(col(User.id))
    .join(Account, col(Account.user_id) == col(User.id))
    .where(
        is_(User.id, "id"),
        col(Account.provider_id) == CREDENTIAL,
        is_(Account.password, "password"),  # defence: V37 seen-password
        is_(User.email_verified, "email_verified"),  # defence: V37 seen-verified
        is_(User.two_factor_enabled, "two_factor_enabled"),  # defence: V37 seen-second-factor
        is_(User.banned, "banned"),  # defence: V37 seen-ban
        # defence: V37 seen-ban-end
        col(User.ban_expires).is_not_distinct_from(bindparam("ban_expires", type_=Instant())),
    )
    .with_for_update(of=[User, Account], key_share=True)
)
"""The user of an `id` and their credential account, if no column that decides on a sign-in with a password has changed
since it was read. The value `password` is the hash that was read.

Both are locked until the transaction ends. PostgreSQL reads each row again if it had to wait for its lock. Every
transaction locks the user before it changes either, so the change is seen.
"""

_ACCOUNT = select(*ACCOUNT_COLUMNS).execution_options(row=AccountRow)

FIND_ACCOUNTS = _ACCOUNT.where(is_(Account.user_id, "user_id"))  # defence: V14 unlink-owner
"""The accounts of a `user_id`, unsorted."""

FIND_ACCOUNT = _ACCOUNT.where(is_(Account.id, "id"), is_(Account.user_id, "user_id"))
"""The account of an `id` if it belongs to that user."""

# defence: V20 provider-subject
ACCOUNT_BY_IDENTITY = _ACCOUNT.where(
    is_(Account.provider_id, "provider_id"),
    is_(Account.issuer, "issuer"),
    is_(Account.account_id, "account_id"),
)
"""The account of an identity, whichever user it belongs to."""

PASSWORD_OF_USER = select(col(Account.password)).where(
    is_(Account.user_id, "user_id"), col(Account.provider_id) == CREDENTIAL
)
"""The password hash of a user who has a credential account."""

CHANGE_ACCOUNT = update(table_of(Account)).where(is_(Account.id, "whose"))
"""Set the given columns of the account with the id `whose`."""
