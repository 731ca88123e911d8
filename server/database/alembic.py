"""Alembic: what a start does that does not find its schema; loaded only then."""

from collections.abc import Callable

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, NoSuchTableError

from models import metadata
from server.database.errors import is_missing_table
from server.database.schema import SCRIPTS, Mode, SchemaRefused, known, tables_found

_MEND = "restore a backup that is whole, or begin with an empty database"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config


def _upgrade(connection: Connection, head: str) -> None:
    if _refuse_unusable(connection, head) != head:
        config = _config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except NoSuchTableError as error:
            raise SchemaRefused(
                f"the database lacks the table {error}, which is to be changed: {_MEND}"
            ) from error
        except DBAPIError as error:
            if not is_missing_table(error):
                raise
            raise SchemaRefused(f"the database lacks a table that is to be changed: {_MEND}") from error
    _refuse_incomplete(connection, head)


def _check(connection: Connection, head: str) -> None:
    found = _refuse_unusable(connection, head)
    if found != head:
        raise SchemaRefused(
            f"the database schema is at {found or 'nothing'}, this program needs {head}:"
            " migrate it with gatewright migrate, or let the service do it (database.migrate = auto)"
        )
    _refuse_incomplete(connection, head)


def _begin(connection: Connection, head: str) -> None:
    (_upgrade if _refuse_unusable(connection, head) is None else _check)(connection, head)


def _refuse_unusable(connection: Connection, head: str) -> str | None:
    """Return the revision of the schema, if this program knows it; None for a database without any table of it."""
    revisions = MigrationContext.configure(connection).get_current_heads()
    tables = _tables(connection)
    if len(revisions) > 1 or (tables and not revisions):
        raise SchemaRefused(
            f"alembic_version does not say at which revision the database's tables are ({', '.join(sorted(tables))}):"
            f" {_MEND}"
        )
    found = revisions[0] if revisions else None
    if found is not None and found not in known():  # defence: R23 known-schema
        raise SchemaRefused(
            f"the database schema is at {found}, which this program does not know (it knows {head}):"
            " the schema is newer than the program"
        )
    return found


def _refuse_incomplete(connection: Connection, head: str) -> None:
    """Refuse a schema that says it is at this program's revision, and lacks tables of it."""
    missing = sorted(metadata.tables.keys() - _tables(connection))
    if missing:
        noun = "table" if len(missing) == 1 else "tables"
        raise SchemaRefused(
            f"the database schema is at {head}, but lacks the {noun} {', '.join(missing)}: {_MEND}"
        )


def _tables(connection: Connection) -> set[str]:
    """Return the names of this program's tables that exist."""
    return set(connection.scalars(tables_found(connection.dialect.name)))


STEPS: dict[Mode, Callable[[Connection, str], None]] = {"auto": _upgrade, "empty": _begin, "check": _check}
"""The actions on a schema by mode, each on a connection in a transaction, by one process at a time."""
