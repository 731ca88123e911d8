"""The settings as the commands read them, and `gatewright check-config`."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import structlog
import typer

from server.config import profiles
from server.config.settings import Settings, describe_sources, misnamed_variables
from server.config.sources import ConfigurationError
from server.database.address import parse
from server.observability import logs
from server.observability.terminal import paint
from server.services import load_settings

NOTHING: Mapping[str, str] = {}


def read(overrides: Mapping[str, str] = NOTHING) -> Settings:
    """Return the settings of this process and configure its log; `overrides` take precedence over the environment.

    Raises ConfigurationError.
    """
    environ = {**os.environ, **overrides}
    settings = load_settings(environ, Path.cwd())
    logs.configure(settings.log.level, settings.log.format, shows_requests=settings.log.requests)
    for warning in profiles.warnings(environ, Path.cwd()):
        structlog.get_logger(__name__).warning("configuration", detail=warning)
    return settings


def check_config() -> None:
    """Check whether the service would start.

    Fails with a line for each setting that is missing or invalid, and for each GATEWRIGHT_ variable that names none.

    Example: gatewright check-config
    """
    settings = load_settings(os.environ, Path.cwd())
    if misnamed := misnamed_variables(os.environ):
        raise ConfigurationError("\n".join(misnamed))
    for label, value in (
        ("settings", describe_sources(os.environ, Path.cwd())),
        ("profile", settings.profile),
        ("base_url", settings.base_url + settings.base_path),
        ("database", parse(settings.database_url.get_secret_value()).label),
        ("mail", mail_route(settings)),
        ("reset mail", settings.password_reset.effective_sender(settings)),
    ):
        typer.echo(f"{label:12}{value}")
    typer.echo(paint("The configuration is valid.", "green", sys.stdout))


def mail_route(settings: Settings) -> str:
    """Return the sender of emails and its target."""
    smtp = settings.mail.smtp
    return {
        "none": "none",
        "console": "console",
        "file": f"file {settings.mail.file_path}",
        "smtp": f"smtp {smtp.host}:{smtp.port}",
    }[settings.mail.sender]
