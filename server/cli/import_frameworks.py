"""The commands that import users of Devise, Django and WordPress."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.cli.import_run import (
    DryRun,
    From,
    IdsFile,
    Options,
    ReportFile,
    Without,
    WithoutProvider,
    in_tables,
    open_file,
    run_import,
)
from server.config.base import Settings
from server.database.sqlite.temporary_map import temporary_map
from server.importers import tables
from server.importers.devise import devise as open_devise
from server.importers.devise import read_secrets
from server.importers.django import TABLE
from server.importers.django import django as open_django
from server.importers.source import Source
from server.importers.wordpress import Wordpress


def devise(  # noqa: PLR0913 - one parameter per option
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
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of a Rails application with Devise.

    Example: gatewright import devise --from postgresql://localhost/app --dry-run
    """

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        async with AsyncExitStack() as stack:
            secrets = stack.enter_context(temporary_map())
            if otp_file is not None:
                await read_secrets(stack.enter_context(open_file(otp_file)), secrets)
            own = settings.database_url.get_secret_value()
            database = await stack.enter_async_context(tables.opened(from_, own))
            yield await open_devise(
                database, secrets, table=table, identities=identities_table, has_pepper=pepper
            )

    run_import(open_source, Options(dry_run, report, ids, without, without_provider))


def django(  # noqa: PLR0913 - one parameter per option
    from_: From,
    table: Annotated[
        str, typer.Option(metavar="TABLE", help="The table of the users, for a custom user model.")
    ] = TABLE,
    staff_role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="The role of users who are staff and no superusers.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Import this group as a role of its name; can be repeated."),
    ] = None,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of a Django application.

    Example: gatewright import django --from postgresql://localhost/app --dry-run
    """
    take = partial(open_django, table=table, staff_role=staff_role, groups=group or ())
    run_import(in_tables(from_, take), Options(dry_run, report, ids, without, without_provider))


def wordpress(
    file: Annotated[
        Path,
        typer.Argument(
            dir_okay=False,
            metavar="FILE",
            help="What `wp user list --format=json` prints; - is standard input.",
        ),
    ],
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of a WordPress site.

    Example: gatewright import wordpress users.json --dry-run
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        with open_file(file) as stream:
            yield Wordpress(stream)

    run_import(open_source, Options(dry_run, report, ids, without, without_provider))
