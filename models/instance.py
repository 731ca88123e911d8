"""The table `instance`: the processes of the service, and the settings that each started with."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlmodel import Field, SQLModel

from models.base import Instant, Retention
from models.statements import upsert


class Instance(SQLModel, table=True):
    """A process, which writes the time of `last_seen_at` again and again while it runs."""

    __retention__ = (Retention("last_seen_at", timedelta(hours=1)),)

    id: str = Field(primary_key=True, max_length=32)
    host: str
    process: int
    version: str
    started_at: datetime = Field(sa_type=Instant)
    last_seen_at: datetime = Field(index=True, sa_type=Instant)
    settings: str = Field(repr=False)
    """By name, as JSON: the value, and keyed digests of a secret, whose value is `set` or `not set`."""


@cache
def upsert_instance(dialect: str) -> Any:
    """Return the statement that adds the row of a process, or only changes when it was seen last."""
    adding = upsert(dialect, Instance)
    return adding.on_conflict_do_update(
        index_elements=["id"], set_={"last_seen_at": adding.excluded.last_seen_at}
    )
