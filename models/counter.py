"""The table `counter`: how often something happened within a window of time."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.base import Instant, Retention


class Counter(SQLModel, table=True):
    """One counter. The key is a digest: neither the limit, the user nor the network can be read from it."""

    __retention__ = (Retention("window_end"),)

    key: bytes = Field(primary_key=True)
    count: int
    window_end: datetime = Field(index=True, sa_type=Instant)
