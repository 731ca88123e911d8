"""The table `daily_count`: the numbers of audit events per day and kind. They are kept longer than the events."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel, col

from models.base import Instant, Retention
from models.statements import upsert


class DailyCount(SQLModel, table=True):
    """The number of audit events of one day (UTC), name, method of signing in (`way_in`) and error code.

    The method and the error code are empty for events without them.
    """

    __tablename__ = "daily_count"
    __retention__ = (Retention("day", timedelta(days=731), key="day"),)

    day: datetime = Field(primary_key=True, sa_type=Instant)
    event: str = Field(primary_key=True)
    way_in: str = Field(primary_key=True)
    code: str = Field(primary_key=True)
    count: int = Field(sa_type=BigInteger)


@cache
def add_count(dialect: str) -> Any:
    """Return the statement that adds `count` to the row with these `day`, `event`, `way_in` and `code`, new or not."""
    adding = upsert(dialect, DailyCount)
    total = col(DailyCount.count) + adding.excluded["count"]
    keys = [col(getattr(DailyCount, name)) for name in ("day", "event", "way_in", "code")]
    return adding.on_conflict_do_update(index_elements=keys, set_={"count": total})
