"""`gatewright migrate`: the schema of the database."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from server.cli import check_config

if TYPE_CHECKING:
    from server.config.settings import Settings


def migrate(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if the schema is not current.")
    ] = False,
) -> None:
    """Bring the database schema up to date.

    Example: gatewright migrate --check
    """
    settings = check_config.read()
    asyncio.run(prepare(settings, "check" if check else "auto"))
    typer.echo("The database schema is up to date.")


async def prepare(settings: "Settings", mode: Literal["auto", "check"]) -> None:
    """Wait for the database, and migrate or check its schema.

    Raises DatabaseAbsent, SchemaRefused, and ValueError for a database URL that cannot be used.
    """
    from server.database import migrations
    from server.database.database import open_database

    database = await open_database(
        settings.database_url.get_secret_value(),
        pool_size=settings.database.pool_size,
        timeout=settings.database.timeout.total_seconds(),
        pooled=settings.database.pooler == "transaction",
    )
    try:
        await migrations.prepare(database, mode)
    finally:
        await database.close()
