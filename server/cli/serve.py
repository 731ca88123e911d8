"""`gatewright serve`: the HTTP server."""

import asyncio
from typing import Annotated

import typer

from server.cli import check_config, migrate
from server.config.settings import Settings
from server.http import server


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides server.host.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides server.port.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that serve side by side.")] = 1,
) -> None:
    """Run the service until it is told to stop."""
    chosen = {"GATEWRIGHT_SERVER__HOST": host, "GATEWRIGHT_SERVER__PORT": None if port is None else str(port)}
    settings = check_config.read({name: value for name, value in chosen.items() if value is not None})
    asyncio.run(migrate.prepare(settings, settings.database.migrate))
    if settings.profile == "development":
        _greet(settings)
    server.serve(settings, workers)


def _greet(settings: Settings) -> None:
    base = settings.base_url + settings.base_path
    typer.echo(f"Gatewright, development profile: {base}")
    if settings.documents.enabled:
        typer.echo(f"  Try it out:  {base}/docs")
    typer.echo(f"  Mail:        {check_config.mail_route(settings)}")
