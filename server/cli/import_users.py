"""`gatewright import`: Import users of another program, with their passwords."""

import typer

from models.discovery import import_modules
from server.cli import imports
from server.cli.imports.run import run_import
from server.cli.imports.source import SOURCES, command

app = typer.Typer(
    help="Import users of another program, with their passwords.\n\nExit status 3: some rows were refused.",
    no_args_is_help=True,
)

import_modules(imports)
for name, declared in sorted(SOURCES.items()):
    app.command(name)(command(declared, run_import))
