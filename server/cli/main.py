"""The command `gatewright`.

A module of this package declares a command by its first line: the name, and the first line of the help. It is loaded
when that command is used: `--help` and `--version` load none of the service. The help of each command ends with an
example.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

Command = TyperCommand | TyperGroup


_DECLARATION = re.compile(r'"""`gatewright ([a-z-]+)`: ([^"]+)')
"""Matches the first line of the module of a command: its name, and the first line of its help."""
_FIRST = ("serve", "migrate", "openapi", "check-config", "doctor", "settings")
"""The commands that are listed before the others: those about the service itself."""


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a command: a module of server/cli with a group `app`, or with a function of the module's name."""

    module: str
    summary: str
    """The first line of the command's help."""


def _locate() -> Iterator[tuple[str, Location]]:
    """Yield the commands with their names."""
    for file in Path(__file__).parent.glob("*.py"):
        # Not imported, because that loads the service, which takes longer than the whole help.
        with file.open(encoding="utf-8") as lines:
            declaration = _DECLARATION.match(lines.readline())
        if declaration:
            yield declaration[1], Location(file.stem, declaration[2].strip())


def _position(command: tuple[str, Location]) -> tuple[int, str]:
    name = command[0]
    return _FIRST.index(name) if name in _FIRST else len(_FIRST), name


COMMANDS = dict(sorted(_locate(), key=_position))


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
    """Import the module of a command; return its function, or its group of commands.

    Raises KeyError for an unknown name.
    """
    location = COMMANDS[name]
    module = import_module(f"{__package__}.{location.module}")
    return getattr(module, "app", None) or getattr(module, location.module)


def _load(name: str) -> Command:
    command, holder = load_command(name), typer.Typer(rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        holder.add_typer(command, name=name)
    else:
        holder.command(name)(command)
    return cast(Command, typer.main.get_group(holder).commands[name])


class Commands(TyperGroup):
    """The group of all commands, which reports their errors."""

    def __init__(self, **attributes: Any) -> None:
        """Create the group with the attributes that typer passes, and with `LazyCommands` as its commands."""
        super().__init__(**{**attributes, "commands": LazyCommands()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line. Exit with status 2 if an argument is not UTF-8 or has NUL, so cannot be stored."""
        if not all(map(_is_text, args)):
            typer.echo("gatewright: the arguments must be text in UTF-8 without NUL", err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. For an error that an operator can fix, print it on standard error and exit with status 1."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            # What an operator can fix is known to the packages of the service, which a command that fails has loaded.
            if not import_module(f"{__package__}.failures").report(error):
                raise
            raise typer.Exit(1) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, location.summary) for name, location in COMMANDS.items()])


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
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Run and administer a Gatewright authentication server.

    Settings come from gatewright.toml in the working folder, and from environment variables.

    Example: gatewright users list --help
    """


def run() -> None:
    """Run the command `gatewright` with the arguments of this process."""
    app()
