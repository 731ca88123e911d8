"""The reference of the command `gatewright`, generated from the program."""

from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from docs.markdown import code, fenced, one_line, page, table
from server.cli.main import app

PAGE = "reference/commands.md"

_INTRODUCTION = """
# Commands

All commands read the same settings as the service, from `gatewright.toml` and the environment. The exit status is 0 on
success, 1 for an error that an operator can fix, with a message on standard error, and 2 for a wrong command line.
"""

Command = TyperCommand | TyperGroup


def pages() -> dict[str, str]:
    """Return the page of commands by its path on the site."""
    group = typer.main.get_group(app)
    return {PAGE: page(_INTRODUCTION, *(_entry(name, one) for name, one in _commands(group, "gatewright")))}


def _commands(group: TyperGroup, above: str) -> Iterator[tuple[str, Command]]:
    """Yield every command that can be run, with its whole name."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{above} {name}")
        elif isinstance(command, TyperCommand):
            yield f"{above} {name}", command


def _entry(name: str, command: Command) -> str:
    arguments = [one for one in command.params if isinstance(one, TyperArgument)]
    rows = [
        (
            code((one.name or "").upper() if isinstance(one, TyperArgument) else ", ".join(one.opts)),
            one_line(getattr(one, "help", None) or ""),
        )
        for one in command.params
        if one.name != "help"
    ]
    typed = " ".join((name, *map(_typed, arguments)))
    return page(
        f"## {code(name)}",
        _unwrapped(command.help or ""),
        fenced("text", typed) if arguments else "",
        table(("Argument or option", "Meaning"), rows) if rows else "",
    )


def _typed(argument: TyperArgument) -> str:
    name = (argument.name or "").upper()
    return name if argument.required else f"[{name}]"


def _unwrapped(text: str) -> str:
    """Return a docstring's paragraphs, each on one line."""
    return page(*(one_line(paragraph) for paragraph in text.split("\n\n")))
