"""The base of every table: metadata with its naming convention, times, row ids, and the two timestamps."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, DateTime, MetaData
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import Field, SQLModel
from sqlmodel.main import default_registry

metadata = SQLModel.metadata
metadata.naming_convention = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
).naming_convention

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def to_milliseconds(instant: datetime) -> int:
    """Return an aware datetime as whole milliseconds since 1970."""
    return (instant - EPOCH) // _MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """Return milliseconds since 1970 as an aware UTC datetime."""
    return EPOCH + milliseconds * _MILLISECOND


class Instant(TypeDecorator[datetime]):
    """A point in time in UTC, truncated to milliseconds: TIMESTAMPTZ on PostgreSQL, integer milliseconds on SQLite."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type of the database."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(DateTime(timezone=True))
        # Integers, because SQLite would store times as text, which has to be parsed.
        return dialect.type_descriptor(BigInteger())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Truncate to milliseconds. Raises ValueError for a naive datetime."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs a time zone")
        milliseconds = to_milliseconds(value)
        return from_milliseconds(milliseconds) if dialect.name == "postgresql" else milliseconds

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """Return aware UTC datetimes; PostgreSQL's driver returns them already."""
        return None if dialect.name == "postgresql" else _read_integer


def _read_integer(milliseconds: int | None) -> datetime | None:
    # Inlined, because each session has five times: a call to `from_milliseconds` would cost a quarter of the time.
    return None if milliseconds is None else EPOCH + milliseconds * _MILLISECOND


ENCRYPTED: dict[str, Any] = {"info": {"encrypted": True}}
"""For `sa_column_kwargs`: the column is encrypted for the purpose `table.column`, and is encrypted again when the
service key is changed. The primary key of its table is one text column."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long rows of a table are kept; a table declares one or several as `__retention__`.

    An index orders the rows by the column `moment`.
    """

    moment: str
    keep: timedelta | str = timedelta(0)
    """How long rows are kept after their moment, or the name of a setting with that time (0: without limit)."""
    where: Callable[[Any], ColumnElement[bool]] | None = None
    """Returns the condition for these rows from the columns of the table; None if all rows are meant."""
    key: str | None = None
    """The column that identifies a row, if the primary key has several."""


@dataclass(frozen=True, slots=True)
class Access:
    """Rows of a table that let a user in, or change the account; a table declares one or several as `__access__`.

    When the mailbox of an address that was never verified is proven, these rows are removed: a stranger may have
    prepared them.
    """

    name: str
    """The name of their number in the audit event."""
    label: str | None = None
    """The English name for users, which is translated; `make translations` finds it as the second argument. None for
    rows that users never see."""
    where: Callable[[Any], ColumnElement[bool]] | None = None
    """Returns the condition for these rows from the columns of the table; None if all rows are meant."""
    expiry: str | None = None
    """The column with the time when a row stops to give access; expired rows are removed, but not counted."""
    owner: str = "user_id"
    """The column with the user."""


def tables() -> list[type[SQLModel]]:
    """Return every table's class, by table name."""
    classes = (mapper.class_ for mapper in default_registry.mappers)
    return sorted(classes, key=lambda table: str(table.__tablename__))


class Timestamped(SQLModel):
    """Rows with their times of creation and last change; every statement that writes a row sets them."""

    # Rows are never validated, so pydantic does not build their validators.
    model_config = {"defer_build": True}

    created_at: datetime = Field(sa_type=Instant)
    updated_at: datetime = Field(sa_type=Instant)


class Record(Timestamped):
    """Rows with an id of 32 random letters and digits."""

    id: str = Field(primary_key=True, max_length=32)
