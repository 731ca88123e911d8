"""Migrations with Alembic; loaded only if the schema is not current at startup."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, NoSuchTableError

from models import metadata
from server.database.errors import is_missing_table
from server.database.schema import IS_INVALID, SCRIPTS, Mode, SchemaRefused, known, tables_found

_PARTITIONS = text(
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = to_regclass(quote_ident(:table)) ORDER BY c.relname"
)
_RESTORE_ADVICE = "restore a backup that is whole, or begin with an empty database"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config


def _upgrade(connection: Connection, head: str) -> None:
    if _refuse_unusable(connection, head) != head:
        with _refusing_missing_tables():
            _upgrade_to("head", connection)
    _refuse_incomplete(connection, head)


def _upgrade_to(revision: str, connection: Connection) -> None:
    """Apply the migrations up to a revision, if they are not applied, in the transaction of a connection."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@contextmanager
def _refusing_missing_tables() -> Iterator[None]:
    try:
        yield
    except NoSuchTableError as error:
        raise SchemaRefused(
            f"the database lacks the table {error}, which is to be changed: {_RESTORE_ADVICE}"
        ) from error
    except DBAPIError as error:
        if not is_missing_table(error):
            raise
        raise SchemaRefused(f"the database lacks a table that is to be changed: {_RESTORE_ADVICE}") from error


class PendingIndexes(NamedTuple):
    """The indexes and rows of a pending migration that can be created on existing tables before it is applied."""

    needs: str
    """The revision that adds the columns of the indexes."""
    indexes: Mapping[str, tuple[str, Sequence[Any], Any]]
    """Table, columns and condition of each index, by its name."""
    backfill: str | None = None
    """A statement that adds or checks rows, unless that was done before. It may read a large table for long."""

    def upgrade(self, connection: Connection) -> None:
        """Apply the migrations up to `needs`, which adds the columns, in the transaction of the connection."""
        _upgrade_to(self.needs, connection)

    def create(self, connection: Connection) -> None:
        """Create the indexes while requests use the tables, and execute `backfill`.

        The connection must commit every statement. Raises SchemaRefused if a table is missing.
        """
        operations = Operations(MigrationContext.configure(connection))
        with _refusing_missing_tables():
            for name, (table, columns, where) in self.indexes.items():
                partitions = connection.scalars(_PARTITIONS, {"table": table}).all()
                for partition in partitions:
                    _create_index(operations, f"{name}_{partition}", partition, columns, where)
                if not partitions:
                    _create_index(operations, name, table, columns, where)
                else:
                    # It takes the indexes of the partitions over, and reads no table.
                    operations.create_index(
                        name, table, list(columns), postgresql_where=where, if_not_exists=True
                    )
            if self.backfill is not None:
                connection.execute(text(self.backfill))


def _create_index(
    operations: Operations, name: str, table: str, columns: Sequence[Any], where: object
) -> None:
    """Create an index concurrently with requests, unless it exists."""
    # An interrupted creation leaves an invalid index behind. PostgreSQL keeps it up to date but never uses it, and
    # `IF NOT EXISTS` would find it.
    if operations.get_bind().scalar(IS_INVALID, {"name": name}):
        operations.drop_index(name, postgresql_concurrently=True)
    operations.create_index(
        name, table, list(columns), postgresql_where=where, postgresql_concurrently=True, if_not_exists=True
    )


def pending_indexes(connection: Connection, head: str) -> list[PendingIndexes]:
    """Return the indexes that PostgreSQL can create before the migrations up to the revision `head` are applied.

    Returns none for an empty database. Raises SchemaRefused if the program does not know the schema's revision.
    """
    found = _refuse_unusable(connection, head)
    if found is None or found == head:
        return []
    pending = ScriptDirectory.from_config(_config()).iterate_revisions(head, found)
    modules = [script.module for script in pending if hasattr(script.module, "INDEXES")]
    return [
        PendingIndexes(module.NEEDS, module.INDEXES, getattr(module, "BACKFILL", None))
        for module in reversed(modules)
    ]


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
    # Without a revision it is unknown which migrations are applied; applying all would fail half-way or lose data.
    if len(revisions) > 1 or (tables and not revisions):
        raise SchemaRefused(
            f"alembic_version does not say at which revision the database's tables are ({', '.join(sorted(tables))}):"
            f" {_RESTORE_ADVICE}"
        )
    found = revisions[0] if revisions else None
    if found is not None and found not in known():  # defence: R23 known-schema
        raise SchemaRefused(
            f"the database schema is at {found}, which this program does not know (it knows {head}):"
            " the schema is newer than the program"
        )
    return found


def _refuse_incomplete(connection: Connection, head: str) -> None:
    """Refuse a schema that is marked with this program's revision but lacks tables."""
    missing = sorted(metadata.tables.keys() - _tables(connection))
    if missing:
        noun = "table" if len(missing) == 1 else "tables"
        raise SchemaRefused(
            f"the database schema is at {head}, but lacks the {noun} {', '.join(missing)}: {_RESTORE_ADVICE}"
        )


def _tables(connection: Connection) -> set[str]:
    """Return the names of this program's tables that exist."""
    return set(connection.scalars(tables_found(connection.dialect.name)))


STEPS: dict[Mode, Callable[[Connection, str], None]] = {"auto": _upgrade, "empty": _begin, "check": _check}
"""The function that migrates or checks a schema, by mode. It is called in a transaction, in one process at a time."""
