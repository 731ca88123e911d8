"""Build statements with named values, which run in transactions. The statements are declared next to their tables.

A transaction compiles a constant statement once per database, and returns each row as the type in the execution option
`row`, or as a named tuple.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import sqlalchemy
from sqlalchemy import (
    ARRAY,
    JSON,
    Boolean,
    ColumnElement,
    Dialect,
    Insert,
    String,
    Table,
    TypeDecorator,
    bindparam,
    func,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine
from sqlmodel import SQLModel, col

from models.base import metadata


def is_(column: Any, name: str) -> ColumnElement[bool]:
    """Return the condition that a column equals the value called `name`."""
    return col(column) == bindparam(name, type_=column.type)


def is_any(column: Any, name: str) -> ColumnElement[bool]:
    """Return the condition that a text column equals one of the texts in the value called `name`, a list.

    Unlike `in_`, it is the same statement for lists of any length.
    """
    return _IsAny(col(column), bindparam(name, type_=_Texts()))


class _IsAny(FunctionElement[bool]):
    """Whether the first expression is in the list that is the second one."""

    type = Boolean()
    inherit_cache = True


class _Texts(TypeDecorator[list[str]]):
    """A list of texts as a parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return ARRAY(String()) if dialect.name == "postgresql" else JSON()


@compiles(_IsAny, "postgresql")
def _in_array(element: _IsAny, compiler: Any, **options: Any) -> str:
    column, values = element.clauses
    return str(compiler.process(column == func.any(values), **options))


@compiles(_IsAny, "sqlite")
def _in_json(element: _IsAny, compiler: Any, **options: Any) -> str:
    column, values = element.clauses
    each = func.json_each(values).table_valued("value")
    return str(compiler.process(column.in_(select(each.c.value)), **options))


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
    """Return an INSERT into a table that supports ON CONFLICT, for a `dialect` such as `postgresql`.

    Only the dialect in use is imported.
    """
    return import_module(f"sqlalchemy.dialects.{dialect}").insert(table_of(model))
