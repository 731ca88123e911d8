"""The command `gatewright`.

The modules of server/cli import what they run inside their functions: `--help` and completion load every command, and
libraries such as SQLAlchemy take a second. The help of each command ends with an example.
"""

import gc
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

Command = TyperCommand | TyperGroup

COMMANDS = {
    "serve": ("serve", "serve"),
    "migrate": ("migrate", "migrate"),
    "openapi": ("openapi", "openapi"),
    "check-config": ("check_config", "check_config"),
    "doctor": ("doctor", "doctor"),
    "settings": ("settings", "settings"),
    "api-keys": ("api_keys", "app"),
    "audit": ("audit", "audit"),
    "export": ("export", "app"),
    "import": ("import_users", "app"),
    "mail": ("mail", "app"),
    "pages": ("pages", "app"),
    "passkeys": ("passkeys", "app"),
    "providers": ("providers", "app"),
    "signing-keys": ("signing_keys", "app"),
    "users": ("users", "app"),
}
"""The location of each command: a module of server/cli, and a function or a group of further commands in it."""


class LazyCommands(Mapping[str, Command]):
    """The commands by their names, each loaded when it is first used."""

    def __init__(self) -> None:
        self._met: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._met:
            self._met[name] = _load(name)
        return self._met[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def load_command(name: str) -> Any:
    """Return what a command runs: a function, or a group of further commands. Raises KeyError for an unknown name."""
    module, attribute = COMMANDS[name]
    # Loading leaves no garbage, and looking for it meanwhile costs a tenth of a second of each start.
    gc.disable()
    try:
        return getattr(import_module(f"{__package__}.{module}"), attribute)
    finally:
        gc.enable()


def _load(name: str) -> Command:
    one, holder = load_command(name), typer.Typer(rich_markup_mode=None)
    if isinstance(one, typer.Typer):
        holder.add_typer(one, name=name)
    else:
        holder.command(name)(one)
    return cast(Command, typer.main.get_group(holder).commands[name])


def _expected_errors() -> tuple[type[Exception], ...]:
    """Return the errors that an operator can fix: a command reports them in plain lines, without a traceback."""
    from domain.errors import Refusal
    from server.config.sources import ConfigurationError
    from server.database.database import DatabaseAbsent
    from server.database.schema import SchemaRefused
    from server.importers.source import SourceRefused
    from server.mail.message import DeliveryError

    return ConfigurationError, DatabaseAbsent, SchemaRefused, SourceRefused, DeliveryError, Refusal


class Commands(TyperGroup):
    """The commands, with one way to report errors."""

    def __init__(self, **attributes: Any) -> None:
        """Create the group with typer's attributes and our commands."""
        super().__init__(**{**attributes, "commands": LazyCommands()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; refuse arguments that cannot be stored as text."""
        if not all(map(_is_text, args)):
            typer.echo("gatewright: the arguments must be text in UTF-8 without NUL", err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an expected error becomes lines on standard error and the exit status 1."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            from server.config.settings import describe_sources
            from server.observability.terminal import paint

            if not isinstance(error, _expected_errors()):
                raise
            program = paint("gatewright:", "red", sys.stderr)
            lines = (str(error) or type(error).__name__).splitlines()
            if details := getattr(error, "details", None):
                lines[-1] += f" ({', '.join(f'{name}: {value}' for name, value in details.items())})"
            for line in (*lines, f"configuration: {describe_sources(os.environ, Path.cwd())}"):
                typer.echo(f"{program} {line}", err=True)
            raise typer.Exit(1) from None


def _is_text(argument: str) -> bool:
    """Return whether an argument is text in UTF-8 without NUL."""
    try:
        return b"\0" not in argument.encode()
    except UnicodeEncodeError:
        return False


app = typer.Typer(
    name="gatewright",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gatewright {version('gatewright')}")
        raise typer.Exit


@app.callback()
def gatewright(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Run and administer a Gatewright authentication server.

    Settings come from gatewright.toml in the working folder, and from environment variables.

    Example: gatewright users list --help
    """


def run() -> None:
    """Run the command `gatewright` with the arguments of this process."""
    app()
