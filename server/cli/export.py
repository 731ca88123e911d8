"""`gatewright export`: what is held about one user, and all users for another Gatewright."""

import asyncio
import sys
from datetime import datetime
from typing import Annotated, Any, BinaryIO

import orjson
import typer

from domain.context import Context
from domain.data_export import export
from domain.data_export.export import Held
from domain.errors import Unavailable
from handlers import wire
from server.cli import check_config
from server.cli.private_files import created
from server.cli.support import run
from server.config.settings import Settings
from server.services import opened
from server.unit_of_work import UnitOfWork

app = typer.Typer(help="Give users, or what is held about one, as JSON.", no_args_is_help=True)

Output = Annotated[
    str | None,
    typer.Option("--output", metavar="FILE", help="Write there, with mode 0600, instead of printing it."),
]


@app.command()
def user(
    identifier: Annotated[str, typer.Argument(metavar="USER", help="Address, username or id.")],
    output: Output = None,
) -> None:
    """Export everything that is held about one user, without anything that opens an account."""
    held = run(lambda ctx: export.export_user(ctx, identifier))
    with created("--output", output) as file:
        (file or sys.stdout.buffer).write(_json(held, orjson.OPT_INDENT_2))
    sys.stdout.flush()


@app.command()
def users(output: Output = None) -> None:
    """Export every user as JSON lines that `gatewright import json-lines` reads.

    Password hashes and the secrets of authenticators are among it: keep it like the database.
    """
    settings = check_config.read()
    with created("--output", output) as file:
        number = asyncio.run(_write_users(settings, file or sys.stdout.buffer))
    sys.stdout.flush()
    typer.echo(f"{number} users exported.", err=True)


async def _write_users(settings: Settings, file: BinaryIO) -> int:
    async with opened(settings) as services:
        return await write_users(services.unit_of_work, file)


async def write_users(unit_of_work: UnitOfWork, file: BinaryIO) -> int:
    """Write every user, all as they were at one moment, page by page; give how many there were.

    Nobody waits for it: the transaction only reads. Raises Unavailable, too where it would have to begin again.
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
                file.write(_json(held))
            number, last = number + len(page), page[-1]["id"]
        return number

    return await unit_of_work.run(write)


def _json(held: Held, options: int = 0) -> bytes:
    return orjson.dumps(
        held, default=_instant, option=orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_APPEND_NEWLINE | options
    )


def _instant(value: Any) -> str:
    if isinstance(value, datetime):
        return wire.instant(value)
    raise TypeError
