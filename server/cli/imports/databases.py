"""The sources that are databases of authentication libraries, and files in the format of this service."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.cli.imports.source import From, Open, in_file, in_tables, secret, source
from server.importers import better_auth as better_auth_tables
from server.importers import fastapi_users as fastapi_users_tables
from server.importers.json_lines import JsonLines


@source("better-auth")
def better_auth(
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
) -> Open:
    """Import the users and organizations of a Better Auth database.

    Example: gatewright import better-auth --from sqlite:///old.db --secret-file secret.txt --dry-run
    """
    secrets = [secret("--secret-file", path) for path in secret_file or ()]
    return in_tables(from_, partial(better_auth_tables.better_auth, secrets=secrets))


@source("fastapi-users")
def fastapi_users(from_: From) -> Open:
    """Import the users of a fastapi-users database.

    Example: gatewright import fastapi-users --from postgresql://localhost/app --dry-run
    """
    return in_tables(from_, fastapi_users_tables.fastapi_users)


@source("json-lines")
def json_lines(
    file: Annotated[
        Path,
        typer.Argument(dir_okay=False, metavar="FILE", help="One JSON object per line; - is standard input."),
    ],
) -> Open:
    """Import the users in a file of JSON lines.

    Example: gatewright import json-lines users.jsonl --report refused.jsonl
    """
    return in_file(file, JsonLines)
