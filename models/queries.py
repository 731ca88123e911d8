"""The few queries of the hot path: each takes one value and reads once, outside any transaction.

A `ReadStatement` is declared here as a SQLAlchemy select with the single parameter `value`, and a function that makes a
result from one row. `server/database` compiles it once per database and runs it without the ORM.

One that joins users begins its FROM with them: PostgreSQL locks tables in that order, and a migration, like every
transaction, locks users first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Select, bindparam, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from models.account import CREDENTIAL, Account
from models.backup_code import BackupCode
from models.counter import Counter
from models.known_network import KnownNetwork
from models.one_time_token import OneTimeToken
from models.session import Session
from models.two_factor import TwoFactor
from models.user import User, ban_holds

Result = TypeVar("Result")


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


class SessionRow(NamedTuple):
    """A session as read by a query; the fields are those of `Session`."""

    id: str
    user_id: str
    remembered: bool
    expires_at: datetime
    created_at: datetime
    updated_at: datetime
    ip_address: str | None
    user_agent: str | None
    impersonated_by: str | None
    active_organization_id: str | None
    method: str = ""
    """The last proof of the sign-in, such as `password` or `totp`."""
    amr: str = ""
    """What was proved (RFC 8176), separated by spaces."""
    token_copy: bytes | None = None
    """Read only for lists."""

    def is_active(self, now: datetime) -> bool:
        """Return whether the session is active at `now`."""
        return now < self.expires_at


class PasswordRow(NamedTuple):
    """The input of a password check: the user, and the hash (None if the user has no password)."""

    user_id: str
    hash: str | None


USER_COLUMNS = tuple(col(getattr(User, name)) for name in UserRow._fields)
"""The columns of a `UserRow`."""

PASSWORD_ACCOUNT = (col(Account.user_id) == col(User.id)) & (col(Account.provider_id) == CREDENTIAL)
"""Joins a user with the account that holds their password."""

_SESSION = tuple(col(getattr(Session, name)) for name in SessionRow._fields if name != "token_copy")


@dataclass(frozen=True, eq=False)
class ReadStatement(Generic[Result]):
    """A select with the one parameter `value`, and a function that makes a result from the columns of one row."""

    statement: Select[*tuple[Any, ...]]
    from_row: Callable[[Sequence[Any]], Result]
    key: Any = None
    """The column that `value` is compared with, if one statement may look up many values. It is unique, unless
    all rows are always requested."""
    is_limited: bool = False
    """Whether the statement has a limit, which is that of each value."""
    cacheable: bool = False
    """Whether the same rows are read repeatedly and seldom change."""


def by(column: Any) -> ColumnElement[bool]:
    """Return the condition that a column equals the value of the query."""
    return col(column) == bindparam("value", type_=column.type)


def _session_and_user(columns: Sequence[Any]) -> tuple[SessionRow, UserRow]:
    return SessionRow(*columns[: len(_SESSION)]), UserRow(*columns[len(_SESSION) :])


def _password_by(column: Any) -> ReadStatement[PasswordRow]:
    wanted = select(col(User.id), col(Account.password))
    return ReadStatement(
        wanted.join(Account, PASSWORD_ACCOUNT, isouter=True).where(by(column)), PasswordRow._make
    )


SESSION_BY_DIGEST = ReadStatement(  # defence: R22 users-first
    select(*_SESSION, *USER_COLUMNS)
    .select_from(User)
    .join(Session, col(Session.user_id) == col(User.id))
    .where(by(Session.token_digest)),
    _session_and_user,
    key=Session.token_digest,
    cacheable=True,
)
"""The session behind a token's SHA-256 digest, and its user."""

_IMPERSONATION = aliased(Session)

IMPERSONATOR_OF_SESSION = ReadStatement(
    select(*_SESSION, *USER_COLUMNS)
    .select_from(User)
    .join(Session, col(Session.user_id) == col(User.id))
    .join(_IMPERSONATION, col(_IMPERSONATION.impersonator_session_id) == col(Session.id))
    .where(
        by(_IMPERSONATION.id),
        col(User.id) == col(_IMPERSONATION.impersonated_by),  # defence: ADM7 impersonator
    ),
    _session_and_user,
)
"""The administrator's own session behind one in the name of a user, active or not, and the administrator."""

SESSIONS_OF_USER = ReadStatement(
    select(*_SESSION, col(Session.token_copy)).where(by(Session.user_id)),  # defence: V22 sessions-of-user
    SessionRow._make,
    key=Session.user_id,
)
"""Every stored session of a user, expired ones included, unsorted: the rows are few, and the caller sorts them."""

PASSWORD_BY_EMAIL = _password_by(User.email)
PASSWORD_BY_USERNAME = _password_by(User.username)
PASSWORD_BY_USER = _password_by(User.id)
"""The input of a password check, by lower-case email, by lower-case username, by user id."""


class OneTimeTokenRow(NamedTuple):
    """A one-time token as read by a query; the fields are those of `OneTimeToken`."""

    purpose: str
    user_id: str | None
    remembered: bool | None
    attempts: int
    email: str | None
    binding: bytes | None
    expires_at: datetime


_ONE_TIME_TOKEN = tuple(col(getattr(OneTimeToken, name)) for name in OneTimeTokenRow._fields)


def _one_time_token_and_user(columns: Sequence[Any]) -> tuple[OneTimeTokenRow, UserRow]:
    return OneTimeTokenRow._make(columns[: len(_ONE_TIME_TOKEN)]), UserRow._make(
        columns[len(_ONE_TIME_TOKEN) :]
    )


ONE_TIME_TOKEN_BY_DIGEST = ReadStatement(
    select(*_ONE_TIME_TOKEN, *USER_COLUMNS)
    .select_from(User)
    .join(OneTimeToken, col(OneTimeToken.user_id) == col(User.id))
    .where(by(OneTimeToken.digest)),
    _one_time_token_and_user,
)
"""The one-time token with a digest, expired or not, and its user."""


class AccountRow(NamedTuple):
    """A way to sign in as read by a query; the fields are those of `Account`, without the password."""

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
"""Every way in which a user signs in, unsorted."""

ACCOUNT_BY_ID = ReadStatement(select(*ACCOUNT_COLUMNS).where(by(Account.id)), AccountRow._make)
"""One way to sign in, by its id."""


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


class BackupSetRow(NamedTuple):
    """The salt and cost to hash a backup code with, and the end of the lock of the second factor."""

    set_id: str
    salt: bytes
    params: str
    locked_until: datetime | None


BACKUP_SET_BY_USER = ReadStatement(
    select(col(BackupCode.set_id), col(BackupCode.salt), col(BackupCode.params), col(TwoFactor.locked_until))
    .join(TwoFactor, col(TwoFactor.user_id) == col(BackupCode.user_id))
    .where(by(BackupCode.user_id), col(BackupCode.live))
    .limit(1),
    BackupSetRow._make,
)
"""The active set of a user's backup codes, as long as one code is left."""


class CounterRow(NamedTuple):
    """A counter as read by a query, with the end of its window."""

    number: int
    window_end: datetime


COUNTER_BY_KEY = ReadStatement(
    select(col(Counter.count), col(Counter.window_end)).where(by(Counter.key)),
    CounterRow._make,
    key=Counter.key,
)
"""The counter of a key, also after the end of its window."""


USER_BY_ID = ReadStatement(select(*USER_COLUMNS).where(by(User.id)), UserRow._make, key=User.id)
"""A user, by id."""


def _last_success(columns: Sequence[Any]) -> datetime:
    last: datetime = columns[0]
    return last


LAST_SUCCESS_BY_NETWORK = ReadStatement(
    select(col(KnownNetwork.last_success)).where(by(KnownNetwork.network)), _last_success
)
"""When a user last signed in from a network, however long ago, by the digest of both."""
