"""Statements on tables whose rows are processed later: an instance claims rows by a lease, and records the outcome.

Such a table has the columns `id`, `attempts`, `next_attempt`, `lease_until` and `updated_at`. A claim counts as an
attempt, and the number of attempts identifies the claim: if the lease expires and another instance claims the row, the
number changes, so a late outcome of the first one has no effect.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Integer, Select, bindparam, select, update
from sqlalchemy.sql.dml import ReturningUpdate
from sqlmodel import SQLModel, col

from models.base import Instant


def claim(table: type[SQLModel], *conditions: ColumnElement[bool], returning: Any) -> ReturningUpdate[Any]:
    """Return the statement that claims due rows of a table that meet the conditions; it returns `returning`.

    Its values are `now`, `most` (how many rows at most, those due first) and `until` (the end of the lease).
    """
    columns = _columns_of(table)
    due = (
        select(col(columns.id))
        .where(*conditions, col(columns.next_attempt) <= bindparam("now", type_=Instant()))
        .order_by(col(columns.next_attempt))
        .limit(bindparam("most", type_=Integer()))
        # Instances that claim at the same time skip each other's rows instead of waiting for them.
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    until: BindParameter[Any] = bindparam("until", type_=Instant())
    return (
        # One statement claims rows by a lease; two instances that first read them could both process a row.
        # defence: R21 claim
        update(table)
        .where(col(columns.id).in_(select(due.c.id)))
        .values(
            attempts=col(columns.attempts) + 1,
            next_attempt=until,
            lease_until=until,
            updated_at=bindparam("now", type_=Instant()),
        )
        .returning(*returning)
    )


def first_due(table: type[SQLModel], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Return the query of the earliest time at which a row is due; a leased row is due when its lease expires."""
    due = col(_columns_of(table).next_attempt)
    return select(due).where(*conditions).order_by(due).limit(1)


def is_claimed(table: type[SQLModel]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for the row that a claim refers to; they match nothing if the row was claimed again."""
    columns = _columns_of(table)
    return (
        col(columns.id) == bindparam("claimed"),
        col(columns.attempts) == bindparam("attempt"),  # defence: WH13 claim-number
    )


def claimed(row_id: str, attempt: int) -> Mapping[str, object]:
    """Return the values for the conditions of `is_claimed`: the row, and the number of attempts when it was claimed."""
    return {"claimed": row_id, "attempt": attempt}


def _columns_of(table: type[SQLModel]) -> Any:
    """Return the table as an object that has a column for each name."""
    return table
