"""Options and arguments that several commands have, and functions that read them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any, BinaryIO

import typer

from server.config import durations
from server.config.sources import file_errors

Identifier = Annotated[str, typer.Argument(metavar="USER", help="Email address, username or id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def repeated(name: str, metavar: str, meaning: str) -> Any:
    """Declare an option that may be repeated; `meaning` is its help."""
    return typer.Option(name, metavar=metavar, help=f"{meaning}; may be repeated.")


def given(**options: Any) -> dict[str, Any]:
    """Return the options that the user has given: those that are neither None nor an empty list."""
    return {name: value for name, value in options.items() if value is not None and value != []}


def duration(text: str) -> timedelta:
    """Parse a duration such as `7d`. Raises BadParameter."""
    try:
        return durations.parse(text)
    except ValueError as fault:
        raise typer.BadParameter(str(fault)) from None


def confirm(question: str, yes: bool) -> None:
    """Ask a question, unless `yes` is true; abort the command if the answer is not yes."""
    if not yes:
        typer.confirm(question, abort=True)


@contextmanager
def created(option: str, path: str | None) -> Iterator[BinaryIO | None]:
    """Create the file that an option names, with mode 0600, and yield it, open for writing; None if `path` is None.

    An existing file is emptied. Raises ConfigurationError.
    """
    if path is None:
        yield None
        return
    with file_errors(f"{option}: {path}"):
        file = _create(path)
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
