"""How a command runs a rule, and how it shows a table."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.context import Context
from server.cli import check_config
from server.services import opened

Result = TypeVar("Result")

_WIDTH = 160
"""Columns of a table that nobody looks at directly, so that nothing is cut."""


def run(job: Callable[[Context], Awaitable[Result]]) -> Result:
    """Run one rule in a transaction of its own."""
    settings = check_config.read()

    async def run() -> Result:
        async with opened(settings) as services:
            return await services.unit_of_work.run(job)

    return asyncio.run(run())


def cell(value: object) -> str:
    """Write a value for a table."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of text under their columns; markup in them counts as text, and nothing steers the terminal."""
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table(box=None, show_header=any(columns), header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_visible(text)) for text in row))
    console.print(table)


def _visible(text: str) -> str:
    """Replace what cannot be seen: users, other programs and proxies choose some of what is shown."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
