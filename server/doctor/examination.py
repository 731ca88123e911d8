"""All checks of `gatewright doctor`."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from domain.identifiers import InvalidEmail
from server.clock import Clock, system_clock
from server.config import profiles
from server.config.base import Settings
from server.config.groups.observability import LogSettings
from server.config.sources import ConfigurationError
from server.database.address import parse
from server.doctor import configuration, dependencies, postgresql, sqlite
from server.doctor.findings import Finding, ok, skipped, warning, wrong
from server.mail.backends import deliver_test
from server.mail.message import DeliveryError
from server.observability import logs
from server.services import load_settings


def examine(environ: Mapping[str, str], directory: Path, send_to: str | None = None) -> list[Finding]:
    """Run all checks and return the findings, in the order in which to fix them.

    A test email is sent to `send_to`, unless it is None.
    """
    try:
        settings = load_settings(environ, directory)
    except ConfigurationError as fault:
        return [*_misconfigured(fault), skipped("everything else", "fix the configuration first")]
    # Otherwise warnings would be printed between the findings.
    logs.configure("error", settings[LogSettings].format)
    return [
        *_configured(settings, environ, directory),
        *configuration.secrets(settings),
        *configuration.addresses(settings),
        *configuration.files(settings, environ, directory),
        *asyncio.run(_ask(settings, send_to)),
    ]


def _misconfigured(fault: ConfigurationError) -> list[Finding]:
    parted = (line.partition("; ") for line in str(fault).splitlines())
    return [wrong("configuration", what, how or "see gatewright settings") for what, _, how in parted]


def _configured(settings: Settings, environ: Mapping[str, str], directory: Path) -> list[Finding]:
    warnings = profiles.warnings(environ, directory)
    fix = "correct the name, or remove it"
    return [warning("configuration", line, fix) for line in warnings] or [
        ok("configuration", f"valid, profile {settings.profile}")
    ]


async def _ask(settings: Settings, send_to: str | None) -> list[Finding]:
    """Run the checks that need the network, concurrently."""
    groups = await asyncio.gather(
        examine_database(settings, system_clock),
        dependencies.mail(settings),
        _test_mail(settings, send_to),
        dependencies.providers(settings),
    )
    single = await asyncio.gather(dependencies.limits(settings), dependencies.public_address(settings))
    return [*(finding for group in groups for finding in group), *single]


async def examine_database(
    settings: Settings, clock: Clock, *, least_free: int = sqlite.LEAST_FREE
) -> list[Finding]:
    """Check the database and return the findings; nothing is written, and no file is created.

    A disk with less than `least_free` bytes free is a problem.
    """
    address = parse(settings.database_url.get_secret_value())
    if address.dialect == "sqlite":
        return list(sqlite.findings(settings, address, clock, least_free))
    return await postgresql.findings(settings, address, clock)


async def _test_mail(settings: Settings, send_to: str | None) -> list[Finding]:
    if send_to is None:
        return []
    try:
        await deliver_test(settings, send_to)
    except InvalidEmail:
        return [
            wrong("test mail", f"{send_to} is not a valid email address", "use one such as ada@example.com")
        ]
    except ConfigurationError as fault:
        return [wrong("test mail", str(fault), "fix that setting, or the files it names")]
    except DeliveryError as fault:
        return [
            wrong("test mail", f"was refused: {fault}", "see the check mail, and the log of the mail server")
        ]
    return [ok("test mail", f"was accepted for {send_to}; check that it arrives, and not as spam")]
