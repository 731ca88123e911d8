"""Queries that run outside a transaction, each with one parameter. They are declared next to their tables.

A `ReadStatement` is a SQLAlchemy select with the single parameter `value`, and a function that converts a row to the
result. `server/database` compiles it once per database and runs it without the ORM.

A query that joins users names them first in its FROM. PostgreSQL locks tables in that order, and migrations, like all
transactions, lock users first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, FromClause, Join, Select, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlmodel import col

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class ReadStatement(Generic[Result]):
    """A select with the one parameter `value`, and a function that creates the result from a row's columns."""

    statement: Select[*tuple[Any, ...]]
    from_row: Callable[[Sequence[Any]], Result]
    key: Any = None
    """The column that `value` is compared with, if one statement may look up many values. It is unique, unless
    callers always read all rows of a value."""
    is_limited: bool = False
    """Whether the statement has a LIMIT, which then holds for each value by itself."""
    cacheable: bool = False
    """Whether results are cached, because the same rows are read repeatedly and seldom change."""


def by(column: Any) -> ColumnElement[bool]:
    """Return the condition that a column equals the parameter `value` of a `ReadStatement`."""
    return col(column) == bindparam("value", type_=column.type)


class _WithUser(Join):
    """A left join with users."""

    inherit_cache = True


def with_user(table: FromClause, users: FromClause, condition: ColumnElement[bool]) -> FromClause:
    """Return a left join of a table (or of a join of tables) with users: rows without a user remain."""
    return _WithUser(table, users, condition, isouter=True)


@compiles(_WithUser, "postgresql")
def _users_first(join: Any, compiler: Any, **kwargs: Any) -> str:
    # The same join with the users on the left, because PostgreSQL locks the tables in the order of the FROM. SQLite
    # would read all users for it.
    kwargs["asfrom"] = True
    table, users, condition = (
        compiler.process(part, **kwargs) for part in (join.left, join.right, join.onclause)
    )
    return f"{users} RIGHT OUTER JOIN {table} ON {condition}"
