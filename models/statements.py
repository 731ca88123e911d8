"""Parts of statements with named values, which transactions run. They are declared next to their tables.

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
    Insert,
    Table,
    bindparam,
)
from sqlmodel import SQLModel, col

from models.base import metadata


def is_(column: Any, name: str) -> ColumnElement[bool]:
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
    """Return the INSERT of the database's dialect, which supports ON CONFLICT. Only the dialect in use is imported."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert(table_of(model))
