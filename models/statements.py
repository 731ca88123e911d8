"""The statements of hot transactions, with named values: each accesses few rows, all found by an index.

A transaction compiles a constant statement once per database, and returns each row as the type in the execution option
`row`, or as a named tuple.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import sqlalchemy
from sqlalchemy import (
    ColumnElement,
    Delete,
    Insert,
    Integer,
    LargeBinary,
    Table,
    bindparam,
    delete,
    literal,
    or_,
    select,
    update,
)
from sqlmodel import SQLModel, col

from models.account import CREDENTIAL, Account
from models.audit import Audit
from models.base import Instant, metadata
from models.counter import Counter
from models.known_network import KnownNetwork
from models.outbox import Outbox
from models.queries import ACCOUNT_COLUMNS, USER_COLUMNS, AccountRow, TwoFactorRow, UserRow
from models.session import Session
from models.two_factor import TwoFactor
from models.user import User


def _is(column: Any, name: str) -> ColumnElement[bool]:
    """Return a comparison of a column with a named value; the name is the column's unless given."""
    return col(column) == bindparam(name, type_=column.type)


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a model."""
    return metadata.tables[str(model.__tablename__)]


@cache
def insert(model: type[SQLModel]) -> Insert:
    """Return the INSERT of a row; a column without a value is NULL or the database's default."""
    return sqlalchemy.insert(table_of(model))


def values_of(row: SQLModel) -> Mapping[str, object]:
    """Return the values of a row by the names of its columns."""
    return {column.name: getattr(row, column.name) for column in table_of(type(row)).columns}


def upsert(dialect: str, model: type[SQLModel]) -> Any:
    """Return the INSERT of a database's own dialect, which supports ON CONFLICT; no other dialect is loaded."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert(table_of(model))


_USER = select(*USER_COLUMNS).execution_options(row=UserRow)

LOCK_USER = _USER.where(_is(User.id, "id")).with_for_update()
LOCK_USER_BY_EMAIL = _USER.where(_is(User.email, "email")).with_for_update()
"""The user of an `id` or `email`, locked until the transaction ends."""

FIND_USER = _USER.where(or_(_is(User.id, "id"), _is(User.email, "lowered"), _is(User.username, "lowered")))
"""The user with the `id`, or with the email address or username `lowered`."""

FIND_USER_BY_EMAIL = _USER.where(_is(User.email, "email"))
"""The user of an `email`, not locked."""

LOCK_CALLER = (
    _USER.join(Session, col(Session.user_id) == col(User.id))
    .where(
        _is(User.id, "id"),
        _is(Session.id, "session_id"),
        col(Session.expires_at) > bindparam("now", type_=Instant()),
        # defence: V33 held-ban
        or_(~col(User.banned), col(User.ban_expires) <= bindparam("now", type_=Instant())),
    )
    .with_for_update(of=[User, Session])
)
"""The user of an `id` who is not banned `now`, and their session of a `session_id`, if it is active; both locked.

PostgreSQL locks in this order, and reads each row again if it had to wait for its lock. Every transaction locks the
user before it ends a session, so the change is seen.
"""

LOCK_CALLER_UNCHANGED = LOCK_CALLER.where(_is(User.updated_at, "updated_at"))
"""The same, if the user was last changed at `updated_at`."""

LOCK_UNCHANGED = (
    select(col(User.id))
    .join(Account, col(Account.user_id) == col(User.id))
    .where(
        _is(User.id, "id"),
        col(Account.provider_id) == CREDENTIAL,
        _is(Account.password, "password"),  # defence: V37 seen-password
        _is(User.email_verified, "email_verified"),  # defence: V37 seen-verified
        _is(User.two_factor_enabled, "two_factor_enabled"),  # defence: V37 seen-second-factor
        _is(User.banned, "banned"),  # defence: V37 seen-ban
        # defence: V37 seen-ban-end
        col(User.ban_expires).is_not_distinct_from(bindparam("ban_expires", type_=Instant())),
    )
    .with_for_update(of=[User, Account])
)
"""The user of an `id` and their account, if every column that decides on a sign-in by `password` (their hash) is
unchanged.

Both are locked until the transaction ends. PostgreSQL reads each row again if it had to wait for its lock. Every
transaction locks the user before it changes either, so the change is seen.
"""

_ACCOUNT = select(*ACCOUNT_COLUMNS).execution_options(row=AccountRow)

FIND_ACCOUNTS = _ACCOUNT.where(_is(Account.user_id, "user_id"))  # defence: V14 unlink-owner
"""The accounts of a `user_id`, unsorted."""

FIND_ACCOUNT = _ACCOUNT.where(_is(Account.id, "id"), _is(Account.user_id, "user_id"))
"""The account of an `id` if it belongs to that user."""

# defence: V20 provider-subject
ACCOUNT_BY_IDENTITY = _ACCOUNT.where(
    _is(Account.provider_id, "provider_id"),
    _is(Account.issuer, "issuer"),
    _is(Account.account_id, "account_id"),
)
"""The account of an identity, whichever user it belongs to."""

TWO_FACTOR_OF_USER = (
    select(*(col(getattr(TwoFactor, name)) for name in TwoFactorRow._fields))
    .where(_is(TwoFactor.user_id, "user_id"))
    .execution_options(row=TwoFactorRow)
)
"""The stored second factor of a user."""

PASSWORD_OF_USER = select(col(Account.password)).where(
    _is(Account.user_id, "user_id"), col(Account.provider_id) == CREDENTIAL
)
"""The password hash of a user who has a credential account."""

END_SESSION = (
    delete(table_of(Session))
    .where(
        _is(Session.id, "id"),
        _is(Session.user_id, "user_id"),  # defence: V22 V40 session-owner
        col(Session.expires_at) > bindparam("now", type_=Instant()),
    )
    .returning(col(Session.id))
)
"""Delete the session of an `id` if it belongs to that user and is active `now`."""

FIND_SESSION = select(col(Session.user_id)).where(_is(Session.id, "id"))
"""The user of the session of an `id`."""

ADD_AUDIT = insert(Audit)
ADD_MAIL = insert(Outbox)

CHANGE_USER = update(table_of(User)).where(_is(User.id, "whose"))
"""Set the given columns of the user with the id `whose`."""

CHANGE_ACCOUNT = update(table_of(Account)).where(_is(Account.id, "whose"))
"""Set the given columns of the account with the id `whose`."""

OVER_LIMIT = (
    select(literal(1))
    .where(_is(Session.user_id, "whose"))
    .limit(1)
    .offset(bindparam("besides", type_=Integer()))
    .scalar_subquery()
)
"""The value an inserted session can return: 1 if the user with the id `whose` has more than `besides` others, else
None.

Whether the new one is counted depends on the database; count again for the exact number.
"""


@cache
def see_network(dialect: str) -> Insert:
    """Return the statement that stores a `network` as one that `user_id` has signed in from, at `last_success`."""
    adding: Any = upsert(dialect, KnownNetwork)
    noted: Insert = adding.on_conflict_do_update(
        index_elements=["user_id", "network"], set_={"last_success": adding.excluded.last_success}
    )
    return noted


@cache
def reset_counts(number: int) -> Delete:
    """Return the statement that deletes so many counters, by the values `key0`, `key1` and so on.

    Their rows are locked in the order of the keys, as everywhere, so that no two transactions deadlock.
    """
    keys = [bindparam(f"key{place}", type_=LargeBinary()) for place in range(number)]
    rows = select(col(Counter.key)).where(col(Counter.key).in_(keys)).order_by(col(Counter.key))
    locked = rows.with_for_update().scalar_subquery()
    return delete(table_of(Counter)).where(col(Counter.key).in_(locked))
