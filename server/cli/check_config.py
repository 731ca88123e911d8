"""The settings as the commands read them, and `gatewright check-config`."""

import os
from collections.abc import Mapping
from pathlib import Path

import structlog
import typer

from server.config import profiles
from server.config.settings import Settings
from server.database.database import parse
from server.observability import logs
from server.services import load_settings

NOTHING: Mapping[str, str] = {}


def read(overrides: Mapping[str, str] = NOTHING) -> Settings:
    """Return the settings of this process and set up its log; `overrides` are variables that win over the environment.

    Raises ConfigurationError.
    """
    environ = {**os.environ, **overrides}
    settings = load_settings(environ, Path.cwd())
    logs.configure(settings.log.level, settings.log.format, shows_requests=settings.log.requests)
    for warning in profiles.warnings(environ):
        structlog.get_logger(__name__).warning("configuration", detail=warning)
    return settings


def check_config() -> None:
    """Say whether the service would start with the present settings, and what is wrong if not."""
    settings = read()
    for label, value in (
        ("profile", settings.profile),
        ("base_url", settings.base_url + settings.base_path),
        ("database", parse(settings.database_url.get_secret_value()).label),
        ("mail", mail_route(settings)),
        ("reset mail", settings.password_reset.sender),
    ):
        typer.echo(f"{label:12}{value}")
    typer.echo("The configuration is valid.")


def mail_route(settings: Settings) -> str:
    """Say in a few words where mail goes."""
    smtp = settings.mail.smtp
    return {
        "none": "is not sent",
        "console": "is printed here",
        "file": f"is appended to {settings.mail.file_path}",
        "smtp": f"goes to {smtp.host}:{smtp.port}",
    }[settings.mail.sender]
