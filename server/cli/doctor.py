"""`gatewright doctor`: what is wrong with this installation, and how to mend it."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from domain.identifiers import InvalidEmail
from server.cli import mail
from server.cli.support import print_table
from server.clock import Clock, system_clock
from server.config import profiles
from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.database.database import parse
from server.doctor import configuration, dependencies, postgresql, sqlite
from server.doctor.findings import Finding, Verdict, odd, ok, skipped, wrong
from server.mail.message import DeliveryError
from server.observability import logs
from server.services import load_settings

_COLUMNS = ("Check", "Verdict", "Found", "How to mend it")


def doctor(
    send_to: Annotated[
        str | None, typer.Option("--send-to", metavar="ADDRESS", help="Send a test mail there, too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Look at configuration, database, mail, providers, limits, clock and files; fail if something is wrong."""
    found = examine(os.environ, Path.cwd(), send_to)
    if as_json:
        typer.echo(orjson.dumps([asdict(finding) for finding in found]))
    else:
        print_table(_COLUMNS, ((one.check, one.verdict, one.found, one.mend) for one in found))
    if any(finding.verdict is Verdict.WRONG for finding in found):
        raise typer.Exit(1)


def examine(environ: Mapping[str, str], directory: Path, send_to: str | None = None) -> list[Finding]:
    """Return all findings, in the order in which one would mend them."""
    try:
        settings = load_settings(environ, directory)
    except ConfigurationError as fault:
        return [*_misconfigured(fault), skipped("everything else", "mend the configuration first")]
    logs.configure("error", settings.log.format)
    return [
        *_configured(settings, environ),
        *configuration.secrets(settings),
        *configuration.addresses(settings),
        *configuration.files(settings, environ, directory),
        *asyncio.run(_ask(settings, send_to)),
    ]


def _misconfigured(fault: ConfigurationError) -> list[Finding]:
    parted = (line.partition("; ") for line in str(fault).splitlines())
    return [wrong("configuration", what, how or "see gatewright settings") for what, _, how in parted]


def _configured(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    warnings = profiles.warnings(environ)
    mend = "correct the name, or remove it"
    return [odd("configuration", line, mend) for line in warnings] or [
        ok("configuration", f"valid, profile {settings.profile}")
    ]


async def _ask(settings: Settings, send_to: str | None) -> list[Finding]:
    """Ask everybody at once."""
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
    """Look at the database; nothing is written, and no file is made. `least_free` is in bytes."""
    address = parse(settings.database_url.get_secret_value())
    if address.dialect == "sqlite":
        return list(sqlite.findings(settings, address, least_free))
    return await postgresql.findings(settings, address, clock)


async def _test_mail(settings: Settings, send_to: str | None) -> list[Finding]:
    if send_to is None:
        return []
    try:
        await mail.deliver(settings, send_to)
    except InvalidEmail:
        return [wrong("test mail", f"{send_to} is no address", "give one such as ada@example.com")]
    except ConfigurationError as fault:
        return [wrong("test mail", str(fault), "mend that setting, or the files it names")]
    except DeliveryError as fault:
        return [
            wrong(
                "test mail", f"was not taken: {fault}", "see the check mail, and the log of the mail server"
            )
        ]
    return [ok("test mail", f"was taken for {send_to}; look whether it arrives, and not among the spam")]
