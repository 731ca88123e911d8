"""The command `gatewright`.

The module of a command is loaded when that command is used: `--help` and `--version` load none of the service. The help
of each command ends with an example.
"""

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

Command = TyperCommand | TyperGroup


@dataclass(frozen=True, slots=True)
class Location:
    """Where a command is: a module of server/cli, and a function or a group of further commands in it."""

    module: str
    attribute: str
    summary: str
    """The first line of its help."""


COMMANDS = {
    "serve": Location("serve", "serve", "Run the service until it is stopped."),
    "migrate": Location("migrate", "migrate", "Bring the database schema up to date."),
    "openapi": Location("openapi", "openapi", "Print the OpenAPI document as JSON."),
    "check-config": Location("check_config", "check_config", "Check whether the service would start."),
    "doctor": Location("doctor", "doctor", "Check the installation, and say how to fix it."),
    "settings": Location("settings", "settings", "Show the settings in force, and where each comes from."),
    "api-keys": Location("api_keys", "app", "Administer API keys."),
    "audit": Location("audit", "audit", "Show audit records, newest first."),
    "export": Location("export", "app", "Export one user or all users as JSON."),
    "import": Location("import_users", "app", "Import users of another program, with their passwords."),
    "mail": Location("mail", "app", "Send a test email; preview all."),
    "orgs": Location("organizations", "app", "Administer organizations and their members."),
    "pages": Location("pages", "app", "Export the templates of the pages."),
    "passkeys": Location("passkeys", "app", "List and remove the passkeys of users."),
    "providers": Location("providers", "app", "List and check identity providers."),
    "signing-keys": Location("signing_keys", "app", "Administer the keys that sign tokens."),
    "users": Location("users", "app", "Administer users."),
    "webhooks": Location("webhooks", "app", "Administer webhook endpoints; verify signatures."),
}


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
    location = COMMANDS[name]
    # Loading leaves no garbage, and looking for it meanwhile costs a tenth of a second of each start.
    gc.disable()
    try:
        return getattr(import_module(f"{__package__}.{location.module}"), location.attribute)
    finally:
        gc.enable()


def _load(name: str) -> Command:
    command, holder = load_command(name), typer.Typer(rich_markup_mode=None)
    if isinstance(command, typer.Typer):
        holder.add_typer(command, name=name)
    else:
        holder.command(name)(command)
    return cast(Command, typer.main.get_group(holder).commands[name])


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
