"""Declare the sources of `gatewright import` as commands, with the options that all of them have."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from domain.data_import.eligibility import Field
from server.cli.options import repeated
from server.config.base import Settings
from server.config.sources import file_errors
from server.importers import tables
from server.importers.source import Source
from server.importers.tables import SourceDatabase

Open = Callable[[Settings], AbstractAsyncContextManager[Source]]
"""A function that opens a source for an import. It may raise ConfigurationError and SourceRefused."""
Declared = Callable[..., Open]
"""A function that gets the arguments of a command and returns the function that opens its source. Its docstring is the
help of the command.
"""

SOURCES: dict[str, Declared] = {}
"""The sources by the names of their commands."""

From = Annotated[
    str,
    typer.Option(
        "--from", metavar="URL", help="Its database: sqlite:///… or postgresql://…; it is only read."
    ),
]


@dataclass(frozen=True, slots=True)
class Options:
    """The options that all sources have."""

    role: Annotated[
        list[str] | None,
        repeated(
            "--role",
            "ROLE",
            "Import this role of users: `admin`, or one of admin.roles; no other is imported",
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; report what would happen to each row.")
    ] = False
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write each refused row with the reason, as JSON lines (mode 0600)."
        ),
    ] = None
    ids: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the old and the new id of each user, as JSON lines."),
    ] = None
    without: Annotated[
        list[Field] | None,
        typer.Option(
            metavar="PART",
            help=f"Import rows without a part that is invalid ({', '.join(Field)}), instead of refusing them.",
        ),
    ] = None
    without_provider: Annotated[
        list[str] | None, typer.Option(metavar="PROVIDER", help="Leave out the accounts of this provider.")
    ] = None


def source(name: str) -> Callable[[Declared], Declared]:
    """Return a decorator that adds a function to `SOURCES`, for the command `gatewright import NAME`."""

    def declare(declared: Declared) -> Declared:
        SOURCES[name] = declared
        return declared

    return declare


def command(declared: Declared, run: Callable[[Open, Options], None]) -> Callable[..., None]:
    """Return the function of a source's command, which takes the arguments of `declared` and of `Options`, and calls
    `run` with the function that opens the source, and the options."""
    own, shared = signature(declared), signature(Options)

    def import_source(**values: Any) -> None:
        options = Options(**{name: values.pop(name) for name in shared.parameters})
        run(declared(**values), options)

    described: Any = import_source
    described.__doc__ = declared.__doc__
    # Typer reads parameters by `inspect.signature`, which returns this attribute if a function has it (PEP 362).
    described.__signature__ = own.replace(parameters=[*own.parameters.values(), *shared.parameters.values()])
    return import_source


def open_file(file: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file for reading bytes; `-` is standard input. Raises ConfigurationError if that fails."""
    with file_errors(str(file)):
        return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def in_file(file: Path, read: Callable[[BinaryIO], Source]) -> Open:
    """Return a function that opens a file and yields the source that `read` makes of it."""

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        with open_file(file) as stream:
            yield read(stream)

    return open_source


def in_tables(
    url: str, read: Callable[[SourceDatabase], Awaitable[Source]], schema: str | None = None
) -> Open:
    """Return a function that opens the database of another program and yields the source that `read` makes of it."""

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        async with tables.opened(url, settings.database_url.get_secret_value(), schema) as database:
            yield await read(database)

    return open_source


def secret(option: str, path: Path) -> str:
    """Return the secret in the file that an option names, without white space around it. Raises ConfigurationError.

    Secrets come from files, because every user of the machine can read the arguments of a process.
    """
    with file_errors(f"{option}: {path}"):
        return path.read_text("utf-8").strip()
