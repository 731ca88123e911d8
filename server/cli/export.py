"""`gatewright export`: Export one user or all users as JSON."""

import asyncio
import sys
from typing import Annotated, BinaryIO

import orjson
import typer

from domain.context import Context
from domain.data_export import export
from domain.errors import Unavailable
from handlers import wire
from server.cli import check_config
from server.cli.options import created
from server.cli.output import count
from server.cli.support import run
from server.config.base import Settings
from server.services import opened
from server.unit_of_work import UnitOfWork

app = typer.Typer(help="Export one user or all users as JSON.", no_args_is_help=True)

Output = Annotated[
    str | None,
    typer.Option("--output", metavar="FILE", help="Write to this file (mode 0600) instead of the terminal."),
]


@app.command()
def user(
    identifier: Annotated[str, typer.Argument(metavar="USER", help="Email address, username or id.")],
    output: Output = None,
) -> None:
    """Export all data of one user, without secrets.

    Example: gatewright export user ada@example.com --output ada.json
    """
    held = run(lambda ctx: export.export_user(ctx, identifier))
    with created("--output", output) as file:
        (file or sys.stdout.buffer).write(wire.exported(held, orjson.OPT_INDENT_2))
    sys.stdout.flush()


@app.command()
def users(output: Output = None) -> None:
    """Export all users as JSON lines, for `gatewright import json-lines`.

    The file contains password hashes and authenticator secrets: protect it like the database.

    Example: gatewright export users --output users.jsonl
    """
    settings = check_config.read()
    with created("--output", output) as file:
        number = asyncio.run(_write_users(settings, file or sys.stdout.buffer))
    sys.stdout.flush()
    typer.echo(f"Exported {count(number, 'user')}.", err=True)


async def _write_users(settings: Settings, file: BinaryIO) -> int:
    async with opened(settings) as services:
        return await write_users(services.unit_of_work, file)


async def write_users(unit_of_work: UnitOfWork, file: BinaryIO) -> int:
    """Write all users from one snapshot, page by page, and return their number.

    The transaction only reads, so it blocks nothing. Raises Unavailable, also if the transaction would have to be
    repeated.
    """
    begun = False

    async def write(ctx: Context) -> int:
        nonlocal begun
        if begun:
            raise Unavailable  # What is written cannot be taken back.
        ctx.transaction = unit_of_work.database.snapshot()
        number, last = 0, ""
        while page := await export.export_all(ctx, after=last):
            begun = True
            for held in page:
                file.write(wire.exported(held))
            number, last = number + len(page), page[-1]["id"]
        return number

    return await unit_of_work.run(write)
