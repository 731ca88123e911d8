"""Helpers of the commands: run rules, print their results, and write files with personal data."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, BinaryIO, TypeVar

import orjson
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.context import Context
from server.cli import check_config
from server.config.sources import ConfigurationError, reason
from server.services import Services, opened

Identifier = Annotated[str, typer.Argument(metavar="USER", help="Email address, username or id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

Result = TypeVar("Result")

_WIDTH = 10_000
"""Columns of a table that does not go to a terminal, so that every row is one line."""
_PROSE = frozenset({"", "Found", "Fix", "Details", "User agent", "Value"})
"""Columns whose text may be wrapped."""
_LEAST = 20
"""Minimum width of such a column."""
_NO_COLOURS: Mapping[str, str] = {}


def run(job: Callable[[Context], Awaitable[Result]]) -> Result:
    """Run one rule in a transaction of its own."""
    return run_services(lambda services: services.unit_of_work.run(job))


def run_services(job: Callable[[Services], Awaitable[Result]]) -> Result:
    """Run a job with open services."""
    settings = check_config.read()

    async def run() -> Result:
        async with opened(settings) as services:
            return await job(services)

    return asyncio.run(run())


def count(number: int, noun: str) -> str:
    """Return a number of things, such as `1 user` or `2 users`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cell(value: object) -> str:
    """Return a value as text for a table."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={cell(entry)}" for name, entry in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(cell, value))
    return "" if value is None else str(value)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], colours: Mapping[str, str] = _NO_COLOURS
) -> None:
    """Print rows of text under their columns; `colours` are those of certain cells.

    A terminal gets no empty columns, and one block per row if the rows are too wide for it. Only prose is wrapped.
    Markup in cells counts as text, and control characters are replaced.
    """
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    cells = [[_visible(text) for text in row] for row in rows]
    shown = [n for n in range(len(columns)) if not console.is_terminal or any(row[n] for row in cells)]
    widths = [max(map(cell_len, (columns[n], *(row[n] for row in cells)))) for n in shown]
    least = [_LEAST if columns[n] in _PROSE else width for n, width in zip(shown, widths, strict=True)]
    if sum(least) + 2 * len(least) > console.width and any(columns):
        for row in cells:
            print_table(("", ""), [(columns[n], row[n]) for n in shown if row[n]], colours)
            console.print()
        return
    table = Table(box=None, show_header=any(columns), header_style="bold", pad_edge=False)
    for n in shown:
        table.add_column(columns[n], overflow="fold", no_wrap=columns[n] not in _PROSE)
    for row in cells:
        table.add_row(*(Text(row[n], colours.get(row[n], "")) for n in shown))
    console.print(table)


def _visible(text: str) -> str:
    """Replace control characters: users, other programs and proxies choose some of what is shown."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def confirm(question: str, yes: bool) -> None:
    """Ask for confirmation, unless `--yes` was given; any answer but yes ends the command."""
    if not yes:
        typer.confirm(question, abort=True)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


@contextmanager
def created(option: str, path: str | None) -> Iterator[BinaryIO | None]:
    """Yield the file that an option names, which only its owner may read, or None without one.

    Raises ConfigurationError.
    """
    if path is None:
        yield None
        return
    try:
        file = _create(path)
    except OSError as error:
        raise ConfigurationError(f"{option}: {path}: {reason(error)}") from None
    with file:
        yield file


def _create(path: str) -> BinaryIO:
    """Open a file for writing, empty and with mode 0600, even if it exists. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # The mode comes first: an existing file may be readable by others.
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "wb")
