"""`gatewright settings`: every setting with its default and meaning, as a table in Markdown."""

from datetime import timedelta
from typing import Any

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from server.config import durations
from server.config.settings import Settings
from server.config.sources import fields

HEAD = ("| Setting | Default | Meaning |", "|---|---|---|")
BY_CORES = {"password.hash_workers": "CPU cores, at most 4"}
"""Defaults that depend on the machine."""


def settings() -> None:
    """Print every setting with its default and meaning."""
    typer.echo(table())


def table() -> str:
    """Return the settings in the order of the documentation; `docs/settings.py` makes a page of them."""
    rows = [_row(".".join(path), field) for path, field in fields(Settings)]
    return "\n".join((*HEAD, *rows))


def _row(name: str, field: FieldInfo) -> str:
    default = BY_CORES.get(name) or shown(field.get_default())
    return f"| `{name}` | {default} | {field.description} |"


def shown(value: Any) -> str:
    """Write a default the way it would be set."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return durations.spell(value)
    return "none" if value in (None, "", ()) else str(value)
