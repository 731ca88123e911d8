"""Report the errors that an operator can fix."""

import os
import sys
from pathlib import Path

import typer

from domain.errors import Refusal
from server.config.settings import describe_sources
from server.config.sources import ConfigurationError
from server.database.database import DatabaseAbsent
from server.database.schema import SchemaRefused
from server.importers.source import SourceRefused
from server.mail.message import DeliveryError
from server.observability.terminal import paint

_EXPECTED = (ConfigurationError, DatabaseAbsent, SchemaRefused, SourceRefused, DeliveryError, Refusal)


def report(error: Exception) -> bool:
    """Print an error that an operator can fix on standard error; return False, without printing, for other errors."""
    if not isinstance(error, _EXPECTED):
        return False
    program = paint("gatewright:", "red", sys.stderr)
    lines = (str(error) or type(error).__name__).splitlines()
    if details := getattr(error, "details", None):
        lines[-1] += f" ({', '.join(f'{name}: {value}' for name, value in details.items())})"
    for line in (*lines, f"configuration: {describe_sources(os.environ, Path.cwd())}"):
        typer.echo(f"{program} {line}", err=True)
    return True
