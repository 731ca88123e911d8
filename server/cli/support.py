"""How a command runs a rule, and how it prints."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from server.cli import check_config

if TYPE_CHECKING:
    from domain.context import Context

Result = TypeVar("Result")

_WIDTH = 160
"""Columns of a table that does not go to a terminal, so that nothing is cut."""
_NO_COLOURS: Mapping[str, str] = {}


def run(job: "Callable[[Context], Awaitable[Result]]") -> Result:
    """Run one rule in a transaction of its own."""
    from server.services import opened

    settings = check_config.read()

    async def run() -> Result:
        async with opened(settings) as services:
            return await services.unit_of_work.run(job)

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
    """Print rows of text under their columns, as wide as the terminal; `colours` are those of certain cells.

    Markup in cells counts as text, and control characters are replaced.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table(box=None, show_header=any(columns), header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_visible(text), colours.get(text, "")) for text in row))
    console.print(table)


def _visible(text: str) -> str:
    """Replace control characters: users, other programs and proxies choose some of what is shown."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
