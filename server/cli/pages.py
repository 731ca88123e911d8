"""`gatewright pages`: Export the templates of the pages."""

from pathlib import Path
from typing import Annotated

import typer

from handlers.pages.environment import TEMPLATES, built_in
from server.cli.options import Yes, confirm
from server.cli.output import count
from server.config.sources import ConfigurationError, file_errors

app = typer.Typer(help="Export the templates of the pages.", no_args_is_help=True)


@app.callback()
def pages() -> None:
    """Export the templates of the pages."""


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to; created if missing.")],
    template: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this one, such as sign_in.html; can be repeated."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Write the built-in templates to a folder.

    Set pages.templates_dir to the folder to use its templates. Existing files are replaced only after a confirmation.
    Delete the templates that you do not change, so that new versions of the program can change them.

    Example: gatewright pages export templates --template sign_in.html
    """
    known = built_in()
    if unknown := sorted(set(template or ()) - set(known)):
        raise ConfigurationError(f"no template is called {', '.join(unknown)}; there are {', '.join(known)}")
    names = sorted(set(template or known))
    if existing := [name for name in names if (folder / name).exists()]:
        confirm(f"Replace {count(len(existing), 'file')} in {folder}?", yes)
    with file_errors(str(folder)):
        for name in names:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((TEMPLATES / name).read_bytes())
    typer.echo(f"Wrote {count(len(names), 'template')} to {folder}. Use them with pages.templates_dir.")
