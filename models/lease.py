"""The table `lease`: who currently runs each task that runs only once at a time."""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel, col

from models.base import Instant
from models.statements import upsert


class Lease(SQLModel, table=True):
    """A task's name, its holder, and the end of the lease."""

    name: str = Field(primary_key=True)
    holder: str
    until: datetime = Field(sa_type=Instant)


def take(dialect: str, name: str, holder: str, *, now: datetime, until: datetime) -> Any:
    """Return the statement that takes or extends the lease of a task; it returns a row if `holder` then has the lease.

    It succeeds if no other instance holds the lease, or the lease has expired at `now`. Of several concurrent attempts
    one succeeds.
    """
    statement = upsert(dialect, Lease).values(name=name, holder=holder, until=until)
    free = (col(Lease.until) <= now) | (col(Lease.holder) == holder)  # defence: R21 lease
    wanted = {"holder": statement.excluded.holder, "until": statement.excluded.until}
    taking = statement.on_conflict_do_update(index_elements=[col(Lease.name)], set_=wanted, where=free)
    return taking.returning(col(Lease.name))
