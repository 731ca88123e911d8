"""The table `lease`: which instance does a background task now."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.base import Instant


class Lease(SQLModel, table=True):
    """A task's name, and who may do it until when."""

    name: str = Field(primary_key=True)
    holder: str
    until: datetime = Field(sa_type=Instant)
