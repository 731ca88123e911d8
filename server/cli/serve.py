"""`gatewright serve`: Run the service until it is stopped."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from domain.users import admins
from server.cli import check_config, migrate, support
from server.config import profiles
from server.config.base import Settings
from server.config.groups.console import ConsoleSettings
from server.config.groups.database import DatabaseSettings
from server.config.groups.mail import MailSettings
from server.config.groups.pages import PagesSettings
from server.config.groups.server import DocumentsSettings
from server.http import server


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on; overrides server.host.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port to listen on; overrides server.port.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of server processes.")] = 1,
) -> None:
    """Run the service until it is stopped.

    With GATEWRIGHT_PROFILE=development the first start creates gatewright.toml in the working folder.

    Example: gatewright serve --port 8001 --workers 4
    """
    variables = {
        "GATEWRIGHT_SERVER__HOST": host,
        "GATEWRIGHT_SERVER__PORT": None if port is None else str(port),
    }
    settings = check_config.read({name: value for name, value in variables.items() if value is not None})
    asyncio.run(migrate.prepare(settings, settings[DatabaseSettings].migrate))
    if settings.profile == "development":
        _greet(settings, profiles.create_settings_file(os.environ, Path.cwd()))
    server.serve(settings, workers)


def _greet(settings: Settings, created: Path | None) -> None:
    base = settings.base_url + settings.base_path
    typer.echo(f"Gatewright, development profile: {base}")
    if settings[DocumentsSettings].enabled:
        typer.echo(f"  Try it out:  {base}/docs")
    if settings[PagesSettings].enabled:
        typer.echo(f"  Sign in:     {base}{settings[PagesSettings].path}/sign-in")
    typer.echo(f"  Emails:      {check_config.mail_route(settings)}")
    if settings[MailSettings].mailbox:
        typer.echo(f"  Mailbox:     {base}/dev/mailbox")
    if settings[ConsoleSettings].enabled and settings[PagesSettings].enabled:
        typer.echo(f"  Console:     {base}{settings[ConsoleSettings].path}")
        if not support.run(admins.exists):
            typer.echo("  First admin: sign up, then gatewright users promote EMAIL")
    verifier = profiles.verifier_file(settings, Path.cwd())
    if verifier is not None:
        typer.echo(f"  API keys:    verify them with the token in {verifier}")
    if created is not None:
        typer.echo(f"  Settings:    {created} (created)")
