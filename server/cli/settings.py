"""`gatewright settings`: Show the settings in force, and where each comes from."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from server.cli.output import print_table
from server.config import profiles
from server.config.effective import MASK, EffectiveSetting, effective_settings, shown
from server.config.settings import AllSettings, load
from server.config.sources import fields
from server.database.address import parse

HEAD = ("| Setting | Default | Meaning |", "|---|---|---|")
BY_CORES = {"password.hash_workers": "CPU cores, at most 4"}
"""Descriptions of defaults that depend on the machine, by key."""


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

    Secrets are masked. Whether the values are valid together is not checked here, but by check-config.

    Example: gatewright settings session --changed
    """
    if markdown:
        typer.echo(table())
        return

    completed = profiles.complete(load(os.environ, Path.cwd()), Path.cwd())
    rows = [
        (one.key, _value(one), one.origin)
        for one in effective_settings(completed, os.environ, Path.cwd())
        if one.key.startswith(name) and not (changed and one.source == "default")
    ]
    if rows:
        print_table(("Setting", "Value", "From"), rows, {"default": "dim"})
    else:
        typer.echo("There are no such settings.", file=sys.stderr)


def _value(setting: EffectiveSetting) -> str:
    """Return a value with secrets masked; of the URL of a database only the password is."""
    if setting.key == "database_url" and setting.is_hidden:
        return _database(setting.value)
    return shown(setting.value, is_hidden=setting.is_hidden)


def _database(url: SecretStr) -> str:
    """Return the URL of a database without its password."""
    try:
        return parse(url.get_secret_value()).label
    except ValueError:
        return MASK


def table() -> str:
    """Return a Markdown table of all settings, in the order of the documentation."""
    rows = [_row(".".join(path), field) for path, field in fields(AllSettings)]
    return "\n".join((*HEAD, *rows))


def _row(name: str, field: FieldInfo) -> str:
    default = BY_CORES.get(name) or shown(field.get_default())
    return f"| `{name}` | {default} | {field.description} |"
