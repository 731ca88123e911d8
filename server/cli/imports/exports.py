"""The sources that are exports of Firebase, Keycloak and Cognito."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.cli.imports.source import Open, in_file, secret, source
from server.config.base import Settings
from server.config.sources import file_errors
from server.database.sqlite.temporary_map import temporary_map
from server.importers.cognito import Cognito
from server.importers.firebase import Firebase, parse_parameters
from server.importers.keycloak import Keycloak, find_files
from server.importers.source import Source


@source("firebase")
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
) -> Open:
    """Import the users of a Firebase project from its export.

    Example: gatewright import firebase users.json --hash-parameters parameters.txt --dry-run
    """
    try:
        parameters = (
            None
            if hash_parameters is None
            else parse_parameters(secret("--hash-parameters", hash_parameters))
        )
    except ValueError as fault:
        raise typer.BadParameter(str(fault), param_hint="--hash-parameters") from None
    return in_file(file, partial(Firebase, parameters=parameters))


@source("keycloak")
def keycloak(
    path: Annotated[
        Path,
        typer.Argument(exists=True, metavar="PATH", help="The file or folder that `kc.sh export` writes."),
    ],
    owner: Annotated[
        str | None,
        typer.Option(metavar="USERNAME", help="The user who becomes the owner of every organization."),
    ] = None,
) -> Open:
    """Import the users and organizations of a Keycloak realm.

    Example: gatewright import keycloak realm.json --dry-run
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        with temporary_map() as user_ids:
            with file_errors(str(path)):
                realm = Keycloak(find_files(path), user_ids, owner)
            yield realm

    return open_source


@source("cognito")
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
) -> Open:
    """Import the users of an Amazon Cognito user pool.

    The users get no password: they reset it, or sign in by email.

    Example: gatewright import cognito users.json --ids ids.jsonl --dry-run
    """
    return in_file(file, Cognito)
