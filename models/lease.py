"""The table `lease`: the instance that currently runs each background task."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.base import Instant


class Lease(SQLModel, table=True):
    """A task's name, its holder, and the end of the lease."""

    name: str = Field(primary_key=True)
    holder: str
    until: datetime = Field(sa_type=Instant)
