"""Leases: which instance does a background task now (table `lease`, behaviour 9.1)."""

from datetime import datetime, timedelta

from sqlmodel import col

from models import Lease
from server.database import Database
from server.upserts import insert


async def take(database: Database, name: str, holder: str, *, now: datetime, seconds: float) -> bool:
    """Whether `holder` may do the task `name` until `now` plus `seconds`.

    It may when nobody else holds the lease or the time has passed; who holds it may prolong it. One statement decides,
    so of several instances that try at once one succeeds.
    """
    statement = insert(database.dialect, Lease).values(
        name=name, holder=holder, until=now + timedelta(seconds=seconds)
    )
    free = (col(Lease.until) <= now) | (col(Lease.holder) == holder)
    wanted = {"holder": statement.excluded.holder, "until": statement.excluded.until}
    taking = statement.on_conflict_do_update(index_elements=[col(Lease.name)], set_=wanted, where=free)
    async with database.transaction() as session:
        return await session.scalar(taking.returning(col(Lease.name))) is not None
