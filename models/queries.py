"""Queries outside a transaction: each takes one value and reads once. They are declared next to their tables.

A `ReadStatement` is a SQLAlchemy select with the single parameter `value`, and a function that makes a result from one
row. `server/database` compiles it once per database and runs it without the ORM.

One that joins users begins its FROM with them: PostgreSQL locks tables in that order, and a migration, like every
transaction, locks users first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, bindparam
from sqlmodel import col

Result = TypeVar("Result")


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
