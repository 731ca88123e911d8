"""The table `counter`: the number of events within a time window."""

from datetime import datetime
from functools import cache
from typing import NamedTuple

from sqlalchemy import Delete, LargeBinary, bindparam, delete, select
from sqlmodel import Field, SQLModel, col

from models.base import Instant, Retention
from models.queries import ReadStatement, by
from models.statements import table_of


class Counter(SQLModel, table=True):
    """One counter. The key is a keyed digest, which does not reveal the limit, the user or the network."""

    __retention__ = (Retention("window_end"),)

    key: bytes = Field(primary_key=True)
    count: int
    window_end: datetime = Field(index=True, sa_type=Instant)


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


@cache
def reset_counts(number: int) -> Delete:
    """Return the statement that deletes `number` counters; their keys are the values `key0`, `key1` and so on.

    Rows are locked in the order of the keys, as in every transaction, so that two of them cannot deadlock.
    """
    keys = [bindparam(f"key{place}", type_=LargeBinary()) for place in range(number)]
    rows = select(col(Counter.key)).where(col(Counter.key).in_(keys)).order_by(col(Counter.key))
    locked = rows.with_for_update().scalar_subquery()
    return delete(table_of(Counter)).where(col(Counter.key).in_(locked))
