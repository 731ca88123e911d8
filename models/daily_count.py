"""The table `daily_count`: how many audit events of a kind a day had. It is kept longer than the events."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel, col

from models.base import Instant, Retention
from models.statements import upsert


class DailyCount(SQLModel, table=True):
    """The number of events of one day (UTC), kind, way in and error code; the last two are empty where they have
    none."""

    __tablename__ = "daily_count"
    __retention__ = (Retention("day", timedelta(days=731), key="day"),)

    day: datetime = Field(primary_key=True, sa_type=Instant)
    event: str = Field(primary_key=True)
    way_in: str = Field(primary_key=True)
    code: str = Field(primary_key=True)
    count: int = Field(sa_type=BigInteger)


@cache
def add_count(dialect: str) -> Any:
    """Return the statement that adds `count` to the row of a day, event, way in and code."""
    adding = upsert(dialect, DailyCount)
    total = col(DailyCount.count) + adding.excluded["count"]
    keys = [col(getattr(DailyCount, name)) for name in ("day", "event", "way_in", "code")]
    return adding.on_conflict_do_update(index_elements=keys, set_={"count": total})
