"""What Alembic does at a start that does not find its schema; imported when that happens (server/migrations.py)."""

from collections.abc import Callable

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from server.migrations import SCRIPTS, Mode, SchemaRefused, known


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config


def _upgrade(connection: Connection, head: str) -> None:
    if _refuse_newer(connection, head) != head:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _check(connection: Connection, head: str) -> None:
    found = _refuse_newer(connection, head)
    if found != head:
        raise SchemaRefused(
            f"the database schema is at {found or 'nothing'}, this program needs {head}:"
            " migrate it with gatewright migrate, or let the service do it (database.migrate = auto)"
        )


def _begin(connection: Connection, head: str) -> None:
    (_upgrade if _refuse_newer(connection, head) is None else _check)(connection, head)


def _refuse_newer(connection: Connection, head: str) -> str | None:
    """Give the revision of the schema (None: there is none yet), if this program knows it."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known():
        raise SchemaRefused(
            f"the database schema is at {found}, which this program does not know (it knows {head}):"
            " the schema is newer than the program"
        )
    return found


STEPS: dict[Mode, Callable[[Connection, str], None]] = {"auto": _upgrade, "empty": _begin, "check": _check}
"""What is done with a schema, by mode: on a connection in a transaction that nobody else has at the same time."""
