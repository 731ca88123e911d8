"""The table `audit`: append-only audit records."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel

from models.base import Instant, Retention
from models.statements import insert


class Outcome(StrEnum):
    """The outcome of an event."""

    SUCCESS = "success"
    FAILURE = "failure"
    REFUSED = "refused"


def _newest_where(column: str, postgresql: str, sqlite: str | None = None) -> Index:
    """Return the index of a column and the time, for the few records that meet a condition."""
    return Index(
        None, column, "time", postgresql_where=text(postgresql), sqlite_where=text(sqlite or postgresql)
    )


class Audit(SQLModel, table=True):
    """One record. It outlives its user, so it has no foreign key to the table `user`."""

    __table_args__ = (
        Index(None, "user_id", "time"),
        Index(None, "event", "time"),
        Index(None, "address", "time"),
        _newest_where("outcome", "outcome <> 'success'"),
        _newest_where("hint", "hint IS NOT NULL"),
        # Most records are about the user who acted; the index of `user_id` has those.
        _newest_where("actor_id", "user_id IS DISTINCT FROM actor_id", "user_id IS NOT actor_id"),
    )
    __retention__ = (Retention("time", "audit.retention"),)

    id: str = Field(primary_key=True, max_length=32)
    time: datetime = Field(index=True, sa_type=Instant)
    event: str
    outcome: str
    code: str | None = None
    user_id: str | None = Field(default=None, max_length=32)
    hint: str | None = None
    actor_id: str | None = Field(default=None, max_length=32)
    session_id: str | None = Field(default=None, max_length=32)
    method: str | None = None
    address: str | None = None
    user_agent: str | None = None
    request_id: str | None = None
    details: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


@dataclass(slots=True, kw_only=True)
class AuditRow:
    """A record to write; the fields are those of `Audit`, which is slower to create."""

    id: str
    time: datetime
    event: str
    outcome: str
    code: str | None
    user_id: str | None
    hint: str | None
    actor_id: str | None
    session_id: str | None
    method: str | None
    address: str | None
    user_agent: str | None
    request_id: str | None
    details: dict[str, Any]


AuditRecord = Audit | AuditRow

ADD_AUDIT = insert(Audit)
