"""The sources that are applications with Devise, Django or WordPress."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.cli.imports.source import From, Open, in_file, in_tables, open_file, source
from server.config.base import Settings
from server.database.sqlite.temporary_map import temporary_map
from server.importers import devise as devise_tables
from server.importers import django as django_tables
from server.importers import tables
from server.importers.source import Source
from server.importers.wordpress import Wordpress


@source("devise")
def devise(
    from_: From,
    table: Annotated[str, typer.Option(metavar="TABLE", help="The table of the users.")] = "users",
    identities_table: Annotated[
        str, typer.Option(metavar="TABLE", help="The table of the accounts at providers, if there is one.")
    ] = "identities",
    otp_file: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            metavar="FILE",
            help="JSON lines with the id and otp_secret of each user with a second factor.",
        ),
    ] = None,
    pepper: Annotated[
        bool,
        typer.Option(
            "--pepper", help="The application sets config.pepper: its hashes cannot be checked here."
        ),
    ] = False,
) -> Open:
    """Import the users of a Rails application with Devise.

    Example: gatewright import devise --from postgresql://localhost/app --dry-run
    """

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        async with AsyncExitStack() as stack:
            secrets = stack.enter_context(temporary_map())
            if otp_file is not None:
                await devise_tables.read_secrets(stack.enter_context(open_file(otp_file)), secrets)
            own = settings.database_url.get_secret_value()
            database = await stack.enter_async_context(tables.opened(from_, own))
            yield await devise_tables.devise(
                database, secrets, table=table, identities=identities_table, has_pepper=pepper
            )

    return open_source


@source("django")
def django(
    from_: From,
    table: Annotated[
        str, typer.Option(metavar="TABLE", help="The table of the users, for a custom user model.")
    ] = django_tables.TABLE,
) -> Open:
    """Import the users of a Django application.

    Example: gatewright import django --from postgresql://localhost/app --dry-run
    """
    return in_tables(from_, partial(django_tables.django, table=table))


@source("wordpress")
def wordpress(
    file: Annotated[
        Path,
        typer.Argument(
            dir_okay=False,
            metavar="FILE",
            help="What `wp user list --format=json` prints; - is standard input.",
        ),
    ],
) -> Open:
    """Import the users of a WordPress site.

    Example: gatewright import wordpress users.json --dry-run
    """
    return in_file(file, Wordpress)
