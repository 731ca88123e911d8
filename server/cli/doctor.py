"""`gatewright doctor`: Check the installation, and say how to fix problems."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from server.cli.output import print_table
from server.doctor.examination import examine
from server.doctor.findings import Verdict

_COLUMNS = ("Check", "Verdict", "Found", "Fix")
_COLOURS = {"ok": "green", "warning": "yellow", "wrong": "red", "skipped": "dim"}


def doctor(
    send_to: Annotated[
        str | None, typer.Option("--send-to", metavar="EMAIL", help="Also send a test email to this address.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Check the installation, and say how to fix problems.

    Checks settings, database, email, providers, limits, clock and files. Fails if something is wrong.

    Example: gatewright doctor --send-to ada@example.com
    """
    found = examine(os.environ, Path.cwd(), send_to)
    if as_json:
        typer.echo(orjson.dumps([asdict(finding) for finding in found]))
    else:
        print_table(_COLUMNS, ((one.check, one.verdict, one.found, one.fix) for one in found), _COLOURS)
    if any(finding.verdict is Verdict.WRONG for finding in found):
        raise typer.Exit(1)
