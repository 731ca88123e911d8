"""A `Query` of models/queries.py, compiled once: the SQL, the arguments it takes, and what turns rows into results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

import orjson
from sqlalchemy import ARRAY, BinaryExpression, BindParameter, Select, bindparam, func
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import visitors
from sqlalchemy.types import TypeEngine

from models.queries import Query

Result = TypeVar("Result")
Row = Sequence[Any]
_Select = Select[*tuple[Any, ...]]

_REMEMBERED = 512
"""Rows of a plan whose results are remembered where rows recur. Each is read again, and one that has changed is another
row."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[Result]):
    """One query on one database."""

    sql: str
    arguments: Callable[[object], tuple[object, ...]]
    """The parameters of the statement for a value."""
    result: Callable[[Row], Result]
    """The result in the columns of one row."""


def plan(query: Query[Result], dialect: Dialect) -> Plan[Result]:
    """Compile a query that looks up one value."""
    return _compile(query.statement, query, dialect)


def batch_plan(query: Query[Result], dialect: Dialect) -> Plan[Result]:
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


def among_results(query: Query[Result], dialect: Dialect) -> Callable[[Row], Result]:
    """Give what makes results of the rows of `among_plan`, for every number of values: a row is remembered once."""
    decode = decoder([column.type for column in query.statement.selected_columns], query.make, dialect)
    if not query.recurs:
        return decode
    read = lru_cache(_REMEMBERED)(lambda text: decode(orjson.loads(text)))
    return lambda row: read(row[0])


def among_plan(
    query: Query[Result], dialect: Dialect, count: int, result: Callable[[Row], Result]
) -> Plan[Result]:
    """Compile a query that looks up so many values at once, given as a list; some of them may be the same.

    Each row begins with the value it answers; `result`, from `among_results`, takes the columns after that. Of such a
    query the value is the only parameter. SQLite only: where rows recur it gives all columns as one text, which costs
    less than each by itself and is compared with those remembered at once.
    """
    values = [bindparam(f"value{place}", type_=query.key.type) for place in range(count)]

    def compare_with_all(element: Any, **_: Any) -> Any:
        is_comparison = isinstance(element, BinaryExpression) and isinstance(element.right, BindParameter)
        return element.left.in_(values) if is_comparison and element.right.key == "value" else None

    statement = cast(_Select, visitors.replacement_traverse(query.statement, {}, compare_with_all))
    columns = [func.json_array(*statement.selected_columns)] if query.recurs else statement.selected_columns
    compiled = statement.with_only_columns(query.key, *columns).compile(dialect=dialect)
    return Plan(str(compiled), _tuple, result)


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


def _compile(statement: _Select, query: Query[Result], dialect: Dialect, skip: int = 0) -> Plan[Result]:
    compiled = statement.compile(dialect=dialect)
    types = [column.type for column in statement.selected_columns][skip:]
    result = decoder(types, query.make, dialect)
    return Plan(
        str(compiled), _arguments(compiled), lru_cache(_REMEMBERED)(result) if query.recurs else result
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
