"""The base classes of the tables: the naming convention, points in time, row ids, and the two timestamps."""

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
"""The value of `sa_column_kwargs` for an encrypted column. The values are encrypted for the purpose `table.column`, and
encrypted again when the service key changes. The primary key of the table must be one text column."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long rows of a table are kept. A table declares one or several in `__retention__`.

    `moment` is the column with the time from which `keep` counts; the column needs an index.
    """

    moment: str
    keep: timedelta | str = timedelta(0)
    """How long rows are kept after `moment`, or the name of the setting with that time; a setting of 0: for ever."""
    where: Callable[[Any], ColumnElement[bool]] | None = None
    """Returns the condition for these rows from the columns of the table; None if all rows are meant."""
    key: str | None = None
    """The column that identifies a row, if the primary key has several."""


@dataclass(frozen=True, slots=True)
class Access:
    """Rows of a table that give access to an account. A table declares one or several in `__access__`.

    When a user proves that they own the mailbox of an account whose address was never verified, these rows are
    removed, because a stranger may have created the account.
    """

    name: str
    """The name under which the number of removed rows is recorded in the audit event."""
    label: str | None = None
    """The English name of these rows for users; None if users never see them. `make translations` finds the name as the
    second argument."""
    where: Callable[[Any], ColumnElement[bool]] | None = None
    """Returns the condition for these rows from the columns of the table; None if all rows are meant."""
    expiry: str | None = None
    """The column with the time until which a row gives access. Expired rows are removed, but not counted."""
    owner: str = "user_id"
    """The column with the id of the user."""


def tables() -> list[type[SQLModel]]:
    """Return the classes of all tables, sorted by table name."""
    classes = (mapper.class_ for mapper in default_registry.mappers)
    return sorted(classes, key=lambda table: str(table.__tablename__))


class Timestamped(SQLModel):
    """Rows with the times of their creation and last change. Every statement that writes a row must set them."""

    # Rows are never validated, so pydantic does not build their validators.
    model_config = {"defer_build": True}

    created_at: datetime = Field(sa_type=Instant)
    updated_at: datetime = Field(sa_type=Instant)


class Record(Timestamped):
    """Rows with an id of 32 random letters and digits."""

    id: str = Field(primary_key=True, max_length=32)
