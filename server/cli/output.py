"""Print what commands have found: tables, JSON and secrets."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

import orjson
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

Row = TypeVar("Row")

_WIDTH = 10_000
"""The width in characters of a table that is not printed to a terminal, so that every row is one line."""
_PROSE = frozenset({"", "Found", "Fix", "Details", "User agent", "Value"})
"""The titles of columns whose text may be wrapped."""
_LEAST = 20
"""Minimum width in characters of a column whose text may be wrapped."""
_NO_COLOURS: Mapping[str, str] = {}


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 user` or `2 users`."""
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


def print_secret(secret: str, note: str) -> None:
    """Print a secret alone on standard output, so that it can be piped, and a note on standard error."""
    typer.echo(note, err=True)
    typer.echo(secret)


def print_list(
    found: Sequence[Row],
    noun: str,
    columns: Sequence[str],
    cells: Callable[[Row], Sequence[object]],
    shape: Callable[[Row], object],
    *,
    as_json: bool,
    colours: Mapping[str, str] = _NO_COLOURS,
) -> None:
    """Print rows as a table with their number, or as a JSON array.

    `cells` returns the cells of a row in the order of `columns`, `shape` the JSON object of a row. `colours` are the
    colours of cells by their text.
    """
    if as_json:
        print_json(list(map(shape, found)))
        return
    if found:
        print_table(columns, map(cells, found), colours)
    typer.echo(count(len(found), noun))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], colours: Mapping[str, str] = _NO_COLOURS
) -> None:
    """Print rows of values as a table; `columns` are the titles, `colours` the colours of cells by their text.

    On a terminal, empty columns are left out, and each row is a block of lines if the table is too wide. Control
    characters in cells are replaced.
    """
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    cells = [[_visible(cell(value)) for value in row] for row in rows]
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


def print_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
