"""`gatewright mail`: Send a test email; preview all."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from domain.localization import supported
from domain.mail.templates import templates
from server.cli import check_config
from server.clock import system_clock
from server.config.groups.pages import PagesSettings
from server.config.sources import ConfigurationError, file_errors
from server.mail import preview as previews
from server.mail.backends import deliver_test
from server.mail.message import Mail

app = typer.Typer(help="Send a test email; preview all.", no_args_is_help=True)


@app.command()
def test(email: Annotated[str, typer.Argument(metavar="EMAIL", help="Recipient of the test email.")]) -> None:
    """Send a test email as mail.sender says, and wait for the result.

    Example: gatewright mail test ada@example.com
    """
    settings = check_config.read()
    asyncio.run(deliver_test(settings, email))
    typer.echo(f"Sent a test email to {email} (mail.sender: {check_config.mail_route(settings)}).")


@app.command("list")
def list_() -> None:
    """List the names of all emails.

    Example: gatewright mail list
    """
    for name in templates():
        typer.echo(name)


@app.command()
def preview(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of the email, such as reset-password.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All emails.")] = False,
    locale: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Language, such as de; by default pages.locale.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write an HTML and a text file per email to this folder."),
    ] = None,
) -> None:
    """Show an email with example values.

    The email is rendered with the current settings and templates. Nothing is sent, and no database is needed.

    Example: gatewright mail preview reset-password --locale de --output previews
    """
    if every == (name is not None):
        raise ConfigurationError("give the name of one email, or --all; gatewright mail list lists them")
    settings = check_config.read()
    now = system_clock()
    names = [name] if name else templates()
    for email in [previews.preview(settings, each, locale, now) for each in names]:
        if output is None:
            typer.echo(f"{_text(email)}\n{email.html}\n")
        else:
            _write(output, email, supported(locale) or settings[PagesSettings].locale)


def _write(folder: Path, mail: Mail, locale: str) -> None:
    with file_errors(f"--output: {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        for ending, content in (("txt", _text(mail)), ("html", mail.html)):
            path = folder / f"{mail.template}.{locale}.{ending}"
            path.write_text(content, "utf-8")
            typer.echo(path)


def _text(mail: Mail) -> str:
    return f"From: {mail.sender}\nTo: {mail.to}\nSubject: {mail.subject}\n\n{mail.text}"
