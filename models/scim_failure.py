"""The table `scim_failure`: the latest refused requests of directories (SCIM)."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlmodel import Field, col

from models.base import Record
from models.statements import insert, is_, table_of


class ScimFailure(Record, table=True):
    """One refused request, without the data that the directory has sent."""

    __tablename__ = "scim_failure"

    connection_id: str = Field(foreign_key="sso_connection.id", index=True, ondelete="CASCADE", max_length=32)
    method: str = Field(max_length=16)
    resource: str = Field(max_length=32)
    """The endpoint, such as `Users`."""
    status: int
    scim_type: str | None = Field(default=None, max_length=32)
    message: str


class ScimFailureRow(NamedTuple):
    """A refused request as read by a query."""

    id: str
    created_at: datetime
    method: str
    resource: str
    status: int
    scim_type: str | None
    message: str


FAILURES_OF_CONNECTION = (
    select(*(col(getattr(ScimFailure, name)) for name in ScimFailureRow._fields))
    .where(is_(ScimFailure.connection_id, "connection_id"))
    .order_by(col(ScimFailure.created_at).desc(), col(ScimFailure.id))
    .execution_options(row=ScimFailureRow)
)
"""The refused requests of the directory of a connection, the newest first."""

ADD_FAILURE = insert(ScimFailure)

REMOVE_FAILURE = delete(table_of(ScimFailure)).where(is_(ScimFailure.id, "failure_id"))
"""Delete the refused request `failure_id`."""
