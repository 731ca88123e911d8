"""`gatewright check-config`: Check whether the service would start.

The other commands read the settings in the same way.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import structlog
import typer

from server.config import profiles
from server.config.base import Settings
from server.config.groups.mail import MailSettings
from server.config.groups.observability import LogSettings
from server.config.groups.password import PasswordResetSettings
from server.config.settings import describe_sources, misnamed_variables
from server.config.sources import ConfigurationError
from server.database.address import parse
from server.observability import logs
from server.observability.terminal import paint
from server.services import load_settings

NOTHING: Mapping[str, str] = {}


def read(overrides: Mapping[str, str] = NOTHING) -> Settings:
    """Load the settings of this process, configure its log, and return the settings.

    `overrides` are environment variables that take precedence over those of the process. Raises ConfigurationError.
    """
    environ = {**os.environ, **overrides}
    settings = load_settings(environ, Path.cwd())
    log = settings[LogSettings]
    logs.configure(log.level, log.format, shows_requests=log.requests)
    for warning in profiles.warnings(environ, Path.cwd()):
        structlog.get_logger(__name__).warning("configuration", detail=warning)
    return settings


def check_config() -> None:
    """Check whether the service would start.

    Fails with a line for each setting that is missing or invalid, and for each GATEWRIGHT_ variable that is no setting.

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
        ("reset mail", settings[PasswordResetSettings].effective_sender(settings)),
    ):
        typer.echo(f"{label:12}{value}")
    typer.echo(paint("The configuration is valid.", "green", sys.stdout))


def mail_route(settings: Settings) -> str:
    """Return how emails are sent and where to, as text for the summary."""
    mail = settings[MailSettings]
    smtp = mail.smtp
    return {
        "none": "none",
        "console": "console",
        "file": f"file {mail.file_path}",
        "smtp": f"smtp {smtp.host}:{smtp.port}",
    }[mail.sender]
