"""The commands that import the exports of Firebase, Keycloak and Cognito."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from server.cli.import_run import (
    DryRun,
    IdsFile,
    Options,
    ReportFile,
    Without,
    WithoutProvider,
    open_file,
    run_import,
    secret,
)
from server.config.base import Settings
from server.config.groups.admin import AdminSettings
from server.config.sources import ConfigurationError, file_errors
from server.database.sqlite.temporary_map import temporary_map
from server.importers.cognito import Cognito
from server.importers.firebase import Firebase, parse_parameters
from server.importers.keycloak import Keycloak, find_files
from server.importers.source import Source

Role = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE",
        help="Import this role, which is `admin` or one of `admin.roles`; repeatable.",
    ),
]


def firebase(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="What `firebase auth:export` writes, JSON or CSV.",
        ),
    ],
    hash_parameters: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="File with the password hash parameters that the Firebase console shows, to import passwords.",
        ),
    ] = None,
    role: Role = None,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of a Firebase project from its export.

    Example: gatewright import firebase users.json --hash-parameters parameters.txt --dry-run
    """
    try:
        # From a file, because every user of the machine can read the arguments of a process.
        parameters = (
            None
            if hash_parameters is None
            else parse_parameters(secret("--hash-parameters", hash_parameters))
        )
    except ValueError as fault:
        raise typer.BadParameter(str(fault), param_hint="--hash-parameters") from None

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        with open_file(file) as stream:
            yield Firebase(stream, parameters, _known(role, settings))

    run_import(open_source, Options(dry_run, report, ids, without, without_provider))


def keycloak(
    path: Annotated[
        Path,
        typer.Argument(exists=True, metavar="PATH", help="The file or folder that `kc.sh export` writes."),
    ],
    role: Role = None,
    owner: Annotated[
        str | None,
        typer.Option(metavar="USERNAME", help="The user who becomes the owner of every organization."),
    ] = None,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users and organizations of a Keycloak realm.

    Example: gatewright import keycloak realm.json --dry-run
    """

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        with temporary_map() as user_ids:
            with file_errors(str(path)):
                source = Keycloak(find_files(path), user_ids, _known(role, settings), owner)
            yield source

    run_import(open_source, Options(dry_run, report, ids, without, without_provider))


def cognito(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="What `aws cognito-idp list-users` prints, or a CSV file with the columns of the user pool.",
        ),
    ],
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of an Amazon Cognito user pool.

    They get no password: they reset it, or sign in by email.

    Example: gatewright import cognito users.json --ids ids.jsonl --dry-run
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        with open_file(file) as stream:
            yield Cognito(stream)

    run_import(open_source, Options(dry_run, report, ids, without, without_provider))


def _known(roles: list[str] | None, settings: Settings) -> Collection[str]:
    """Return the roles, which must be configured. Raises ConfigurationError."""
    known = ("admin", "user", *settings[AdminSettings].roles)
    for role in roles or ():
        if role not in known:
            raise ConfigurationError(f"--role: {role} is not one of admin.roles")
    return roles or ()
