"""`gatewright doctor`: what is wrong with this installation, and how to mend it."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from domain.errors import InvalidEmail
from server import logs, profiles
from server.clock import system_clock
from server.commands import mail
from server.commands.running import print_table
from server.diagnosis import database, others, written
from server.diagnosis.findings import Finding, Verdict, odd, ok, skipped, wrong
from server.mail import DeliveryError
from server.settings import Settings
from server.sources import ConfigurationError

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
    """Give all findings, in the order in which one would mend them."""
    try:
        settings = profiles.load(environ, directory)
    except ConfigurationError as fault:
        return [*_misconfigured(fault), skipped("everything else", "mend the configuration first")]
    logs.configure("error", settings.log.format)
    return [
        *_configured(settings, environ),
        *written.secrets(settings),
        *written.addresses(settings),
        *written.files(settings, environ, directory),
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
        database.findings(settings, system_clock),
        others.mail(settings),
        _test_mail(settings, send_to),
        others.providers(settings),
    )
    single = await asyncio.gather(others.limits(settings), others.public_address(settings))
    return [*(finding for group in groups for finding in group), *single]


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
