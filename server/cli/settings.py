"""`gatewright settings`: the values in force and their sources, or all settings as a table in Markdown."""

import os
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from server.cli.support import print_table
from server.config import durations, profiles
from server.config.settings import FILE, Settings, former_keys, load
from server.config.sources import CONFIG, Environment, fields, read_file, renamed, values
from server.database.address import parse

HEAD = ("| Setting | Default | Meaning |", "|---|---|---|")
BY_CORES = {"password.hash_workers": "CPU cores, at most 4"}
"""Defaults that depend on the machine."""
_MASK = "********"


def settings(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Only settings that begin with this, such as session.")
    ] = "",
    changed: Annotated[
        bool, typer.Option("--changed", help="Only settings that are not the default.")
    ] = False,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print every setting with its default and meaning, in Markdown."),
    ] = False,
) -> None:
    """Show the settings in force, and where each comes from.

    Secrets are masked. The values need not be valid together: check-config checks that.

    Example: gatewright settings session --changed
    """
    if markdown:
        typer.echo(table())
        return

    rows = [
        row
        for row in effective_settings(os.environ, Path.cwd())
        if row[0].startswith(name) and not (changed and row[2] == "default")
    ]
    if rows:
        print_table(("Setting", "Value", "From"), rows, {"default": "dim"})
    else:
        typer.echo("There are no such settings.", file=sys.stderr)


def effective_settings(environ: Mapping[str, str], directory: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each setting with its value and its source: default, a file, a variable or the profile."""
    file = directory / environ.get(CONFIG, FILE)
    in_file = renamed(read_file(file, required=False), former_keys())
    variables = Environment(Settings, environ, former_keys()).origins
    written = load(environ, directory)
    defaults, before = dict(values(Settings())), dict(values(written))
    for path, value in values(profiles.complete(written, directory)):
        if path in variables:
            source = variables[path]
        elif _is_in(in_file, path):
            source = file.name
        elif value != before[path]:
            source = f"profile {written.profile}"
        else:
            source = "default"
        is_secret = value != defaults.get(path)
        text = (
            _database(value) if path == ("database_url",) and is_secret else shown(value, is_secret=is_secret)
        )
        yield ".".join(path), text, source


def _database(url: SecretStr) -> str:
    """Return the URL of a database without its password."""
    try:
        return parse(url.get_secret_value()).label
    except ValueError:
        return _MASK


def _is_in(table: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(table, dict) or key not in table:
            return False
        table = table[key]
    return True


def table() -> str:
    """Return the settings in the order of the documentation; `docs/settings.py` makes a page of them."""
    rows = [_row(".".join(path), field) for path, field in fields(Settings)]
    return "\n".join((*HEAD, *rows))


def _row(name: str, field: FieldInfo) -> str:
    default = BY_CORES.get(name) or shown(field.get_default())
    return f"| `{name}` | {default} | {field.description} |"


def shown(value: Any, *, is_secret: bool = False) -> str:
    """Return a value the way it would be set; `is_secret` masks it if its type is secret."""
    if isinstance(value, SecretStr):
        return _MASK if is_secret else value.get_secret_value() or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return durations.spell(value)
    if isinstance(value, tuple | list):
        return ", ".join(shown(entry, is_secret=is_secret) for entry in value) or "none"
    if isinstance(value, dict):
        return (
            ", ".join(f"{key} = {shown(entry, is_secret=is_secret)}" for key, entry in value.items())
            or "none"
        )
    return "none" if value is None or value == "" else str(value)
