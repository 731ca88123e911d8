"""The few statements of hot transactions: each touches few rows, all found by an index, and has named values.

A `Command` is declared here as a SQLAlchemy statement and what makes a result of one row. `server/transactions.py`
compiles it once per database and runs it in a transaction, without the ORM.
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
    select,
    update,
)
from sqlmodel import SQLModel, col

from models.account import CREDENTIAL, Account
from models.audit import Audit
from models.base import Instant, metadata
from models.counter import Counter
from models.known_network import KnownNetwork
from models.queries import UserRow
from models.session import Session
from models.user import User

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Command(Generic[Result]):
    """A statement with named values, and what makes a result of the columns of one row."""

    statement: Executable
    make: Callable[[Sequence[Any]], Result]
    sets: tuple[str, ...] = ()
    """The columns that an INSERT or UPDATE gives the values of the same names."""


def _first(columns: Sequence[Any]) -> Any:
    return columns[0]


def _nothing(columns: Sequence[Any]) -> None:
    return None


def _is(column: Any, name: str) -> ColumnElement[bool]:
    """Compare a column with the value of a name; where the column is set, too, its own name is that of the new one."""
    return col(column) == bindparam(name, type_=column.type)


def insert(model: type[SQLModel], *, returning: ColumnElement[Any] | None = None) -> Command[Any]:
    """Give what adds a row; every column wants its value. One that is there is SQLAlchemy's IntegrityError.

    `returning` is what it gives, if anything.
    """
    table = metadata.tables[str(model.__tablename__)]
    # A SELECT, unlike VALUES, can have a condition.
    row = select(*(bindparam(column.name, type_=column.type) for column in table.columns))
    adding = sqlalchemy.insert(table).from_select(table.columns.keys(), row)
    if returning is None:
        return Command(adding, _nothing)
    return Command(adding.returning(returning), _first)


_USER = tuple(col(getattr(User, name)) for name in UserRow._fields)

HOLD_USER = Command(select(*_USER).where(_is(User.id, "id")).with_for_update(), UserRow._make)
HOLD_USER_BY_EMAIL = Command(select(*_USER).where(_is(User.email, "email")).with_for_update(), UserRow._make)
"""The user of an `id` or an `email`, locked until the transaction ends."""

PASSWORD_OF_USER: Command[str | None] = Command(
    select(col(Account.password)).where(
        _is(Account.user_id, "user_id"), col(Account.provider_id) == CREDENTIAL
    ),
    _first,
)
"""The password hash of a user who has a credential account."""

LIVE_SESSION: Command[str] = Command(
    select(col(Session.id)).where(
        _is(Session.id, "id"),
        _is(Session.user_id, "user_id"),
        col(Session.expires_at) > bindparam("now", type_=Instant()),
    ),
    _first,
)
"""The session of an `id`, if it is that user's and live `now`."""

END_SESSION: Command[Any] = Command(
    delete(metadata.tables["session"])
    .where(_is(Session.id, "id"), _is(Session.user_id, "user_id"))
    .returning(col(Session.expires_at)),
    _first,
)
"""Delete the session of an `id` if it is that user's; gives its end."""

SEE_NETWORK: Command[Any] = Command(
    update(metadata.tables["known_network"])
    .where(_is(KnownNetwork.user_id, "whose"), _is(KnownNetwork.network, "seen"))
    .returning(col(KnownNetwork.network)),
    _first,
    ("last_success",),
)
"""Note that the network `seen` was that of a success; gives nothing when it is not among those of the user `whose`."""

ADD_USER, ADD_ACCOUNT = insert(User), insert(Account)
ADD_NETWORK, ADD_AUDIT = insert(KnownNetwork), insert(Audit)
"""Add a row of each; a session is added where sessions are made, and nowhere else."""

CROWDED = (
    select(literal(1))
    .where(_is(Session.user_id, "whose"))
    .limit(1)
    .offset(bindparam("besides", type_=Integer()))
    .scalar_subquery()
)
"""What an added session can give: 1 if the user `whose` has another one besides so many, else None.

Whether the new one is among them is the database's choice: who wants to know the number has to count.
"""


@cache
def change_user(*columns: str) -> Command[None]:
    """Give what sets these columns of the user `whose`."""
    return Command(update(metadata.tables["user"]).where(_is(User.id, "whose")), _nothing, columns)


@cache
def forget_counts(number: int) -> Command[None]:
    """Give what deletes so many counts, by the values `key0`, `key1` and so on.

    Their rows are locked in the order of the keys, as everywhere, so that no two transactions wait for each other.
    """
    keys = [bindparam(f"key{place}", type_=LargeBinary()) for place in range(number)]
    rows = select(col(Counter.key)).where(col(Counter.key).in_(keys)).order_by(col(Counter.key))
    locked = rows.with_for_update().scalar_subquery()
    return Command(delete(metadata.tables["counter"]).where(col(Counter.key).in_(locked)), _nothing)
