"""The table `counter`: how often something happened within a window of time."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.base import Instant, Retention


class Counter(SQLModel, table=True):
    """One count. The key is a digest: what is counted, of whom, and from where cannot be read from it."""

    __retention__ = (Retention("window_end"),)

    key: bytes = Field(primary_key=True)
    count: int
    window_end: datetime = Field(index=True, sa_type=Instant)
