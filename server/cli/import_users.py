"""`gatewright import`: Import users of another program, with their passwords."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.cli import import_exports, import_frameworks, import_services
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
    secret,
)
from server.config.base import Settings
from server.importers.better_auth import better_auth
from server.importers.fastapi_users import fastapi_users
from server.importers.json_lines import JsonLines
from server.importers.source import Source

app = typer.Typer(
    help="Import users of another program, with their passwords.\n\nExit status 3: some rows were refused.",
    no_args_is_help=True,
)


@app.command("better-auth")
def _better_auth(
    from_: From,
    secret_file: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="File with BETTER_AUTH_SECRET, to import second factors; can be repeated for several secrets.",
        ),
    ] = None,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users and organizations of a Better Auth database.

    Example: gatewright import better-auth --from sqlite:///old.db --secret-file secret.txt --dry-run
    """
    # From a file, because every user of the machine can read the arguments of a process.
    secrets = [secret("--secret-file", path) for path in secret_file or ()]
    run_import(
        in_tables(from_, partial(better_auth, secrets=secrets)),
        Options(dry_run, report, ids, without, without_provider),
    )


@app.command("fastapi-users")
def _fastapi_users(
    from_: From,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of a fastapi-users database.

    Example: gatewright import fastapi-users --from postgresql://localhost/app --dry-run
    """
    run_import(in_tables(from_, fastapi_users), Options(dry_run, report, ids, without, without_provider))


@app.command("json-lines")
def _json_lines(
    file: Annotated[
        Path,
        typer.Argument(dir_okay=False, metavar="FILE", help="One JSON object per line; - is standard input."),
    ],
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users in a file of JSON lines.

    Example: gatewright import json-lines users.jsonl --report refused.jsonl
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        with open_file(file) as stream:
            yield JsonLines(stream)

    run_import(open_source, Options(dry_run, report, ids, without, without_provider))


app.command("supabase")(import_services.supabase)
app.command("auth0")(import_services.auth0)
app.command("clerk")(import_services.clerk)
app.command("firebase")(import_exports.firebase)
app.command("keycloak")(import_exports.keycloak)
app.command("cognito")(import_exports.cognito)
app.command("devise")(import_frameworks.devise)
app.command("django")(import_frameworks.django)
app.command("wordpress")(import_frameworks.wordpress)
