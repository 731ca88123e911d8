"""The few statements of hot transactions: each touches few rows, all found by an index, and has named values.

A `WriteStatement` is a SQLAlchemy statement and a function that makes a result of one row.
`server/database/transaction.py` compiles it once per database and runs it in a transaction, without the ORM.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import sqlalchemy
from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    LargeBinary,
    bindparam,
    delete,
    literal,
    or_,
    select,
    text,
    update,
)
from sqlmodel import SQLModel, col

from models.account import CREDENTIAL, Account
from models.audit import Audit
from models.base import Instant, metadata
from models.counter import Counter
from models.known_network import KnownNetwork
from models.queries import USER_COLUMNS, UserRow
from models.session import Session
from models.user import User

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class WriteStatement(Generic[Result]):
    """A statement with named values, and what makes a result of the columns of one row."""

    statement: Executable
    from_row: Callable[[Sequence[Any]], Result]
    sets: tuple[str, ...] = ()
    """The columns that an INSERT or UPDATE gives the values of the same names."""


def _first(columns: Sequence[Any]) -> Any:
    return columns[0]


def _nothing(columns: Sequence[Any]) -> None:
    return None


def _is(column: Any, name: str) -> ColumnElement[bool]:
    """Compare a column with the value of a name; where the column is set, too, its own name is that of the new one."""
    return col(column) == bindparam(name, type_=column.type)


def _columns(model: type[SQLModel]) -> list[sqlalchemy.Column[Any]]:
    return list(metadata.tables[str(model.__tablename__)].columns)


def insert(model: type[SQLModel], *, returning: ColumnElement[Any] | None = None) -> WriteStatement[Any]:
    """Give what adds a row; every column wants its value. One that is there is SQLAlchemy's IntegrityError.

    `returning` is what it gives, if anything.
    """
    columns = _columns(model)
    names = tuple(column.name for column in columns)
    adding = sqlalchemy.insert(columns[0].table)
    if returning is None:
        return WriteStatement(adding, _nothing, names)
    return WriteStatement(adding.returning(returning), _first, names)


LOCK_USER_BY_EMAIL = WriteStatement(
    select(*USER_COLUMNS).where(_is(User.email, "email")).with_for_update(), UserRow._make
)
"""The user of an `email`, locked until the transaction ends."""

LOCK_CALLER = WriteStatement(
    select(*USER_COLUMNS)
    .join(Session, col(Session.user_id) == col(User.id))
    .where(
        _is(User.id, "id"),
        _is(Session.id, "session_id"),
        col(Session.expires_at) > bindparam("now", type_=Instant()),
        # defence: V33 held-ban
        or_(~col(User.banned), col(User.ban_expires) <= bindparam("now", type_=Instant())),
    )
    .with_for_update(of=[User, Session]),
    UserRow._make,
)
"""The user of an `id` who is not banned `now`, and their session of a `session_id`, if that is live; both locked.

PostgreSQL locks in this order, and looks at each row anew if it had to wait for it: whoever locks the user first, as
everybody does, and then ends the session, is seen.
"""

LOCK_UNCHANGED: WriteStatement[str] = WriteStatement(
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
    .with_for_update(of=[User, Account]),
    _first,
)
"""The user of an `id` if all that decides on a sign-in by `password`, their hash, is what was seen; and their account.

Both are locked until the transaction ends. PostgreSQL looks at each row anew if it had to wait for it: whoever locks
the user first, and then changes either, is seen.
"""

PASSWORD_OF_USER: WriteStatement[str | None] = WriteStatement(
    select(col(Account.password)).where(
        _is(Account.user_id, "user_id"), col(Account.provider_id) == CREDENTIAL
    ),
    _first,
)
"""The password hash of a user who has a credential account."""

END_SESSION: WriteStatement[str] = WriteStatement(
    delete(metadata.tables["session"])
    .where(
        _is(Session.id, "id"),
        _is(Session.user_id, "user_id"),  # defence: V22 V40 session-owner
        col(Session.expires_at) > bindparam("now", type_=Instant()),
    )
    .returning(col(Session.id)),
    _first,
)
"""Delete the session of an `id` if it is that user's and live `now`."""

SEE_NETWORK: WriteStatement[None] = WriteStatement(
    # Both databases write it alike, but for SQLAlchemy it is two statements.
    text(
        "INSERT INTO known_network (user_id, network, last_success) VALUES (:user_id, :network, :last_success)"
        " ON CONFLICT (user_id, network) DO UPDATE SET last_success = excluded.last_success"
    ).bindparams(*(bindparam(column.name, type_=column.type) for column in _columns(KnownNetwork))),
    _nothing,
)
"""Note that a `network` was that of a user's success."""

ADD_USER, ADD_ACCOUNT, ADD_AUDIT = insert(User), insert(Account), insert(Audit)
"""Add a row of each; a session is added where sessions are made, and nowhere else."""

OVER_LIMIT = (
    select(literal(1))
    .where(_is(Session.user_id, "whose"))
    .limit(1)
    .offset(bindparam("besides", type_=Integer()))
    .scalar_subquery()
)
"""What an added session can return: 1 if the user with the id `whose` has more than `besides` others, else None.

Whether the new one is among them is the database's choice: who wants to know the number has to count.
"""


@cache
def change_user(*columns: str) -> WriteStatement[None]:
    """Return the statement that sets these columns of the user with the id `whose`."""
    return WriteStatement(update(metadata.tables["user"]).where(_is(User.id, "whose")), _nothing, columns)


@cache
def reset_counts(number: int) -> WriteStatement[None]:
    """Give what deletes so many counts, by the values `key0`, `key1` and so on.

    Their rows are locked in the order of the keys, as everywhere, so that no two transactions wait for each other.
    """
    keys = [bindparam(f"key{place}", type_=LargeBinary()) for place in range(number)]
    rows = select(col(Counter.key)).where(col(Counter.key).in_(keys)).order_by(col(Counter.key))
    locked = rows.with_for_update().scalar_subquery()
    return WriteStatement(delete(metadata.tables["counter"]).where(col(Counter.key).in_(locked)), _nothing)
