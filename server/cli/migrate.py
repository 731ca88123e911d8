"""`gatewright migrate`: Bring the database schema up to date."""

import asyncio
from typing import Annotated, Literal

import typer

from models.discovery import lazy_import
from server.cli import check_config
from server.config.base import Settings
from server.config.groups.database import DatabaseSettings
from server.database import schema
from server.database.database import open_database


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if the schema is not current.")
    ] = False,
    search_index: Annotated[
        bool, typer.Option("--search-index", help="Also index parts of names and addresses (PostgreSQL).")
    ] = False,
) -> None:
    """Bring the database schema up to date.

    With --search-index, searches for a part of an email address or name use an index. This needs PostgreSQL's extension
    pg_trgm, and disk space for the indexes. The service can keep running.

    Example: gatewright migrate --check
    """
    settings = check_config.read()
    asyncio.run(prepare(settings, "check" if check else "auto", search_index=search_index))
    typer.echo("The database schema is up to date.")


async def prepare(settings: Settings, mode: Literal["auto", "check"], *, search_index: bool = False) -> None:
    """Wait for the database, and migrate or check its schema, as `mode` says; with `search_index`, create the indexes
    for searches, too.

    Raises DatabaseAbsent, SchemaRefused, and ValueError for a database URL that cannot be used.
    """
    chosen = settings[DatabaseSettings]
    database = await open_database(
        settings.database_url.get_secret_value(),
        pool_size=chosen.pool_size,
        timeout=chosen.timeout.total_seconds(),
        pooled=chosen.pooler == "transaction",
    )
    try:
        await schema.prepare(database, mode)
        if search_index:
            await lazy_import("server.database.migrations").add_search_indexes(database)
    finally:
        await database.close()
