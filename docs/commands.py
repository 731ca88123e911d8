"""The reference of the command `gatewright`, generated from the program."""

from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from docs.markdown import code, fenced, one_line, page, table
from server.cli.main import app

PAGE = "reference/commands.md"

_INTRODUCTION = """
# Commands

All commands read the same settings as the service, from `gatewright.toml` in the working folder (or the file that
`GATEWRIGHT_CONFIG` names) and the environment. The exit status is 0 on success, 1 for an error that an operator can
fix, with a message on standard error that also names the settings used, and 2 for a wrong command line. `-h` or
`--help` after any command describes it, and `gatewright --version` prints the version.

Colours are used on terminals only; set `NO_COLOR` to disable them.

**Completion.** `gatewright --install-completion` installs completion of commands and options for the current shell
(bash, zsh, fish or PowerShell), from the next start of the shell on. `gatewright --show-completion` prints the script
instead.
"""

Command = TyperCommand | TyperGroup
_EXAMPLE = "Example: "


def pages() -> dict[str, str]:
    """Return the page of commands by its path on the site."""
    group = typer.main.get_group(app)
    return {
        PAGE: page(
            _INTRODUCTION, *(_entry(name, command) for name, command in _commands(group, "gatewright"))
        )
    }


def _commands(group: TyperGroup, above: str) -> Iterator[tuple[str, Command]]:
    """Yield every command that can be run, with its whole name."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{above} {name}")
        elif isinstance(command, TyperCommand):
            yield f"{above} {name}", command


def _entry(name: str, command: Command) -> str:
    arguments = [parameter for parameter in command.params if isinstance(parameter, TyperArgument)]
    rows = [
        (
            code(_name(parameter) if isinstance(parameter, TyperArgument) else ", ".join(parameter.opts)),
            one_line(getattr(parameter, "help", None) or ""),
        )
        for parameter in command.params
        if parameter.name != "help"
    ]
    typed = " ".join((name, *map(_typed, arguments)))
    return page(
        f"## {code(name)}",
        _unwrapped(command.help or ""),
        fenced("text", typed) if arguments else "",
        table(("Argument or option", "Meaning"), rows) if rows else "",
    )


def _typed(argument: TyperArgument) -> str:
    return _name(argument) if argument.required else f"[{_name(argument)}]"


def _name(argument: TyperArgument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _unwrapped(text: str) -> str:
    """Return a docstring's paragraphs, each on one line."""
    return page(*(_paragraph(one_line(paragraph)) for paragraph in text.split("\n\n")))


def _paragraph(text: str) -> str:
    """Return a paragraph; an example becomes a block of code."""
    return fenced("sh", text.removeprefix(_EXAMPLE)) if text.startswith(_EXAMPLE) else text
