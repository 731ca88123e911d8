"""The table `instance`: the processes of the service, and the settings that each started with."""

from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlmodel import Field, SQLModel

from models.base import Instant, Retention
from models.statements import upsert


class Instance(SQLModel, table=True):
    """A process of the service. While it runs, it regularly updates `last_seen_at`."""

    __retention__ = (Retention("last_seen_at", timedelta(hours=1)),)

    id: str = Field(primary_key=True, max_length=32)
    host: str
    process: int
    version: str
    started_at: datetime = Field(sa_type=Instant)
    last_seen_at: datetime = Field(index=True, sa_type=Instant)
    settings: str = Field(repr=False)
    """The settings by name, as JSON. Instead of a secret, `set` or `not set` and keyed digests are stored."""


@cache
def upsert_instance(dialect: str) -> Any:
    """Return the statement that adds the row of a process, or updates only `last_seen_at` if the row exists."""
    adding = upsert(dialect, Instance)
    return adding.on_conflict_do_update(
        index_elements=["id"], set_={"last_seen_at": adding.excluded.last_seen_at}
    )
