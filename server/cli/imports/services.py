"""The sources that are hosted services: Supabase, Auth0 and Clerk."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from server.cli.imports.source import From, Open, in_tables, open_file, secret, source
from server.config.base import Settings
from server.crypto.supabase import parse_keys
from server.database.sqlite.temporary_map import temporary_map
from server.importers import supabase as supabase_tables
from server.importers.auth0 import Auth0, Credentials
from server.importers.clerk import ApiUsers, Clerk
from server.importers.source import Source


@source("supabase")
def supabase(
    from_: From,
    keys_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="File with the value of GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS, if columns are encrypted.",
        ),
    ] = None,
) -> Open:
    """Import the users of a Supabase project from its database.

    Example: gatewright import supabase --from postgresql://postgres@db.example.com/postgres --dry-run
    """
    try:
        keys = {} if keys_file is None else parse_keys(secret("--keys-file", keys_file))
    except ValueError as fault:
        raise typer.BadParameter(str(fault), param_hint="--keys-file") from None
    return in_tables(from_, partial(supabase_tables.supabase, keys=keys), supabase_tables.SCHEMA)


@source("auth0")
def auth0(
    file: Annotated[
        Path,
        typer.Argument(
            dir_okay=False, metavar="FILE", help="The users of an export job in the format JSON, unpacked."
        ),
    ],
    password_file: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, metavar="FILE", help="The password hashes that Auth0's support delivers."
        ),
    ] = None,
    mfa_file: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="The MFA secrets that Auth0's support delivers."),
    ] = None,
) -> Open:
    """Import the users of an Auth0 tenant from its export.

    Example: gatewright import auth0 users.json --password-file passwords.json --dry-run
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        async with AsyncExitStack() as stack:
            credentials = Credentials(stack.enter_context(temporary_map()))
            if password_file is not None:
                await credentials.read_passwords(stack.enter_context(open_file(password_file)))
            if mfa_file is not None:
                await credentials.read_factors(stack.enter_context(open_file(mfa_file)))
            yield Auth0(stack.enter_context(open_file(file)), credentials)

    return open_source


@source("clerk")
def clerk(
    file: Annotated[
        Path, typer.Argument(dir_okay=False, metavar="FILE", help="The CSV file of the Clerk dashboard.")
    ],
    api_users: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            metavar="FILE",
            help="The users of Clerk's Backend API, one JSON object per line: bans, accounts, images, roles, times.",
        ),
    ] = None,
) -> Open:
    """Import the users of a Clerk instance from its export.

    Example: gatewright import clerk users.csv --api-users users.jsonl --dry-run
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        async with AsyncExitStack() as stack:
            more = ApiUsers(stack.enter_context(temporary_map()))
            if api_users is not None:
                await more.read(stack.enter_context(open_file(api_users)))
            yield Clerk(stack.enter_context(open_file(file)), more)

    return open_source
