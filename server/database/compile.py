"""A `ReadStatement` of models/queries.py, compiled once: the SQL, its arguments, and how rows become results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

import orjson
from sqlalchemy import ARRAY, BinaryExpression, BindParameter, Select, bindparam, func
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import visitors
from sqlalchemy.types import TypeEngine

from models.queries import ReadStatement

Result = TypeVar("Result")
Row = Sequence[Any]
_Select = Select[*tuple[Any, ...]]

_REMEMBERED = 512
"""Results that are cached per statement, keyed by the row itself. Every row is read again; a row that has changed is a
different key."""


@dataclass(frozen=True, slots=True)
class CompiledRead(Generic[Result]):
    """One query on one database."""

    sql: str
    arguments: Callable[[object], tuple[object, ...]]
    """The parameters of the statement for a value."""
    result: Callable[[Row], Result]
    """The result in the columns of one row."""


def compile_read(query: ReadStatement[Result], dialect: Dialect) -> CompiledRead[Result]:
    """Compile a query that looks up one value."""
    return _compile(query.statement, query, dialect)


def compile_unnest(query: ReadStatement[Result], dialect: Dialect) -> CompiledRead[Result]:
    """Compile a query that looks up many values at once, given as a list; PostgreSQL only.

    Each row begins with the position, from 1, of the value it answers; `result` takes the columns after that.
    """
    values = bindparam("value", type_=ARRAY(query.key.type))
    asked = (
        func.unnest(values).table_valued("value", with_ordinality="position", name="asked").render_derived()
    )
    wanted = asked.c.value

    def ask(element: Any, **_: Any) -> Any:
        return wanted if isinstance(element, BindParameter) and element.key == "value" else None

    statement = cast(_Select, visitors.replacement_traverse(query.statement, {}, ask))
    return _compile(
        statement.with_only_columns(asked.c.position, *statement.selected_columns), query, dialect, skip=1
    )


def in_list_results(query: ReadStatement[Result], dialect: Dialect) -> Callable[[Row], Result]:
    """Return the function that makes results of rows of `compile_in_list`, with one cache for all numbers of values."""
    decode = decoder([column.type for column in query.statement.selected_columns], query.from_row, dialect)
    if not query.cacheable:
        return decode
    read = lru_cache(_REMEMBERED)(lambda text: decode(orjson.loads(text)))
    return lambda row: read(row[0])


def compile_in_list(
    query: ReadStatement[Result], dialect: Dialect, count: int, result: Callable[[Row], Result]
) -> CompiledRead[Result]:
    """Compile a query that looks up so many values at once, given as a list; some of them may be the same.

    Each row begins with the value it answers; `result`, from `in_list_results`, takes the columns after that. Of such a
    query the value is the only parameter. SQLite only: for a cacheable query it returns all columns as one text, which
    costs less than one by one and is the key of the cache.
    """
    values = [bindparam(f"value{place}", type_=query.key.type) for place in range(count)]

    def compare_with_all(element: Any, **_: Any) -> Any:
        is_comparison = isinstance(element, BinaryExpression) and isinstance(element.right, BindParameter)
        return element.left.in_(values) if is_comparison and element.right.key == "value" else None

    statement = cast(_Select, visitors.replacement_traverse(query.statement, {}, compare_with_all))
    columns = (
        [func.json_array(*statement.selected_columns)] if query.cacheable else statement.selected_columns
    )
    compiled = statement.with_only_columns(query.key, *columns).compile(dialect=dialect)
    return CompiledRead(str(compiled), _tuple, result)


def is_storable(value: object) -> bool:
    """Whether a row can hold the value: no text with a NUL or a lone surrogate is stored anywhere.

    To ask for one would be an error on one database and nothing on the other; the answer is: no rows.
    """
    if not isinstance(value, str):
        return True
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _compile(
    statement: _Select, query: ReadStatement[Result], dialect: Dialect, skip: int = 0
) -> CompiledRead[Result]:
    compiled = statement.compile(dialect=dialect)
    types = [column.type for column in statement.selected_columns][skip:]
    result = decoder(types, query.from_row, dialect)
    return CompiledRead(
        str(compiled), _arguments(compiled), lru_cache(_REMEMBERED)(result) if query.cacheable else result
    )


def _tuple(values: object) -> tuple[object, ...]:
    return tuple(cast(Sequence[object], values))


def _arguments(compiled: Any) -> Callable[[object], tuple[object, ...]]:
    """Give what puts the value among the constants that SQLAlchemy has taken out of the statement."""
    names, constants = tuple(compiled.positiontup), compiled.params
    if names == ("value",):
        return lambda value: (value,)
    return lambda value: tuple(value if name == "value" else constants[name] for name in names)


def decoder(
    types: Sequence[TypeEngine[Any]], make: Callable[[Row], Result], dialect: Dialect
) -> Callable[[Row], Result]:
    """Give what decodes the columns as their types want it and makes the result of them."""
    processors = [kind.dialect_impl(dialect).result_processor(dialect, None) for kind in types]
    steps = tuple((index, process) for index, process in enumerate(processors) if process is not None)

    def decode(row: Row) -> Result:
        columns = list(row)
        for index, process in steps:
            if columns[index] is not None:
                columns[index] = process(columns[index])
        return make(columns)

    return decode if steps else make
