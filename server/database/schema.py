"""The schema that this program needs, and the checks whether a database has this schema."""

from functools import cache
from pathlib import Path
from typing import Literal

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    bindparam,
    column,
    func,
    literal,
    select,
    table,
    text,
    values,
)

from models import metadata, migrations
from models.discovery import lazy_import
from models.queries import ReadStatement
from server.database.database import Database
from server.database.errors import is_missing_table

_version = column("version_num", String(32))
_given = bindparam("value", type_=String(32))
_schema = select(_version).select_from(table("alembic_version"))

IS_INVALID = text("SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
"""Query that returns true if the index `name` is invalid, because its creation was interrupted."""

SCRIPTS = Path(migrations.__file__).parent
VERSIONS = SCRIPTS / "versions"

Mode = Literal["auto", "empty", "check"]


class SchemaRefused(Exception):
    """The program cannot use or change the schema of the database; the message is one line for the operator."""


@cache
def known() -> frozenset[str]:
    """Return all revisions that this program knows, from the names of the migration files."""
    return frozenset(file.name.partition("_")[0] for file in VERSIONS.glob("[0-9]*_*.py"))


def head() -> str:
    """Return the newest revision this program knows."""
    return max(known())


async def current_is_head(database: Database) -> bool:
    """Return whether the schema is complete and at the newest revision that this program knows.

    Raises Unavailable if the database does not respond.
    """
    return await _has_row(database, _at_revision(database.dialect))


async def prepare(database: Database, mode: Mode) -> None:
    """Migrate the schema or check it, as `mode` says, by `migrations.prepare`; do nothing if the schema is current.

    Raises SchemaRefused if the schema is not current afterwards.
    """
    # Migrations load Alembic and SQLAlchemy's asynchronous engines: a tenth of the time and memory of a start.
    if not await current_is_head(database):
        await lazy_import("server.database.migrations").prepare(database, mode)


async def is_usable(database: Database) -> bool:
    """Return whether a running service can use the database.

    True also for a newer schema, because migrations only add: a newer program may run next to this one during an
    upgrade. False for an older or incomplete schema, and for a standby. Raises Unavailable if the database does not
    respond.
    """
    return await _has_row(database, _at_least(database.dialect))


def tables_found(dialect: str) -> Select[tuple[str]]:
    """Return a query for the names of this program's tables that exist. It reads only the catalogue, so it waits for no
    lock."""
    names = sorted(metadata.tables)
    if dialect == "postgresql":
        known = values(column("name", String), name="known").data([(name,) for name in names])
        return select(known.c.name).where(func.to_regclass(func.quote_ident(known.c.name)).is_not(None))
    catalogue = table("sqlite_master", column("type", String), column("name", String))
    is_known = catalogue.c.name.in_([literal(name) for name in names])
    return select(catalogue.c.name).where(catalogue.c.type == "table", is_known)


@cache
def _at_revision(dialect: str) -> ReadStatement[tuple[object, ...]]:
    """Return the query whether the schema is complete and exactly at the given revision."""
    return ReadStatement(_schema.where(_version == _given, _is_complete(dialect)), tuple)


@cache
def _at_least(dialect: str) -> ReadStatement[tuple[object, ...]]:
    """Return the query whether the schema is complete and at least at the given revision, and the server is a primary.

    Revisions can be compared as text, because their names are numbers of four digits.
    """
    query = _schema.where(_version >= _given, _is_complete(dialect))  # defence: R23 at-least
    # A lagging standby still shows sessions that were revoked on the primary.
    return ReadStatement(query.where(~func.pg_is_in_recovery()) if dialect == "postgresql" else query, tuple)


def _is_complete(dialect: str) -> ColumnElement[bool]:
    statement = select(func.count()).select_from(tables_found(dialect).subquery())
    return statement.scalar_subquery() == len(metadata.tables)


async def _has_row(database: Database, query: ReadStatement[tuple[object, ...]]) -> bool:
    try:
        return await database.reads.one(query, head()) is not None
    except Exception as error:
        if is_missing_table(error):
            return False
        raise
