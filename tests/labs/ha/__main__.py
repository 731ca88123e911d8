"""Break a cluster under load, and print what became of it: `make test-ha`, or `python -m tests.labs.ha --help`."""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from tests.labs.ha.cluster import running
from tests.labs.ha.instances import Instances, together
from tests.labs.ha.ledger import mails
from tests.labs.ha.limit_store import storing
from tests.labs.ha.logs import log_faults
from tests.labs.ha.processes import until
from tests.labs.ha.scenarios import SCENARIOS, Place, Row, measure

LIMIT = 5400.0
"""Seconds after which everything is ended."""

MAILED = 100.0
"""Seconds for the last mail: an instance that dies has claimed its mails for a minute."""

Modes = Literal["both", "synchronous", "asynchronous"]


def main(
    replication: Annotated[Modes, typer.Option(help="How the standbys follow.")] = "both",
    only: Annotated[list[str] | None, typer.Option(help=f"Scenarios: {', '.join(SCENARIOS)}.")] = None,
    keep: Annotated[bool, typer.Option(help="Keep the folder with all logs.")] = False,
) -> None:
    """Measure each scenario, print one table, and fail if a promise of the manual is not kept."""
    if unknown := set(only or ()) - set(SCENARIOS):
        raise typer.BadParameter(f"unknown scenarios: {', '.join(sorted(unknown))}")
    # Whoever ends this ends everything that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    modes = [
        mode == "synchronous" for mode in ("asynchronous", "synchronous") if replication in ("both", mode)
    ]
    plan = {mode: only or _names(modes, is_synchronous=mode) for mode in modes}
    directory = Path(tempfile.mkdtemp(prefix="gatewright-ha-"))
    directory.chmod(0o755)
    try:
        rows, broken = asyncio.run(_run(directory, plan))
    finally:
        if keep:
            print(f"Logs: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    _print(rows)
    broken += [
        f"{_mode(row.is_synchronous)}, {row.scenario.name}: {each}"
        for row, _ in rows
        for each in row.broken()
    ]
    for line in broken:
        print(f"NOT KEPT  {line}")
    sys.exit(1 if broken else 0)


def _names(modes: Sequence[bool], *, is_synchronous: bool) -> list[str]:
    """Return the scenarios of a mode; the store of the limits need break in one mode only."""
    return [name for name, each in SCENARIOS.items() if not each.is_of_store or is_synchronous is modes[-1]]


Measured = tuple[Row, tuple[int, int]]
"""A row, and how many mails were lost and doubled."""


async def _run(directory: Path, plan: Mapping[bool, Sequence[str]]) -> tuple[list[Measured], list[str]]:
    """Take the scenarios of each mode. Return what was measured, and the faults in the logs of the instances."""
    rows: list[Measured] = []
    faults: list[str] = []
    async with asyncio.timeout(LIMIT):
        for is_synchronous, names in plan.items():
            folder = directory / _mode(is_synchronous)
            async with (
                running(folder, is_synchronous=is_synchronous) as cluster,
                storing(directory / f"store-{folder.name}") as store,
            ):
                limits = {"limits.store": store.address}
                with together(directory / f"instances-{folder.name}", cluster.url, limits) as instances:
                    place = Place(cluster, instances, store)
                    measured: list[Row] = []
                    try:
                        for name in names:
                            measured.append(await _measured(name, place))
                    except (RuntimeError, TimeoutError) as fault:
                        faults.append(f"{folder.name}, {name}: it was not measured to the end: {fault}")
                    rows += await _with_mails(measured, instances)
            faults += [f"{folder.name}: {fault}" for fault in log_faults(instances.log)]
    return rows, faults


async def _measured(name: str, place: Place) -> Row:
    began = time.monotonic()
    row = await measure(SCENARIOS[name], place)
    what = f"{_mode(row.is_synchronous)}, {row.scenario.name}: {time.monotonic() - began:.0f} s"
    print(what, *row.broken(), sep="\n  ", file=sys.stderr, flush=True)
    return row


async def _with_mails(rows: Sequence[Row], instances: Instances) -> list[Measured]:
    """Return the rows with the mails that were lost and doubled, once no mail waits."""
    kept = set().union(*(row.lost.kept for row in rows))

    async def are_all_sent() -> bool:
        return kept <= mails(instances.mail_file).keys()

    try:
        await until(are_all_sent, "the mails", MAILED)
    except RuntimeError as late:
        print(late, file=sys.stderr)
    sent = mails(instances.mail_file)
    return [
        (
            row,
            (
                sum(not sent[email] for email in row.lost.kept),
                sum(sent[email] > 1 for email in row.lost.kept),
            ),
        )
        for row in rows
    ]


def _print(rows: Sequence[Measured]) -> None:
    table = Table("Scenario", "Replication", "Gap (s)", "Later (s)", "Responses", "Slowest (s)", "Lost", "Revived",
                  "Mails lost, doubled", "Connections", "Guesses", "Load")  # fmt: skip
    for row, (lost, doubled) in rows:
        statuses = sorted(row.ledger.statuses.items())
        table.add_row(
            row.scenario.name,
            _mode(row.is_synchronous),
            " ".join(f"{gap:.1f}" for gap in row.gaps),
            " ".join(f"{lag:.1f}" for lag in row.lags),
            " ".join(f"{status}:{number}" for status, number in statuses),
            f"{row.ledger.slowest:.1f}",
            str(len(row.lost.writes)),
            str(len(row.lost.revived)),
            f"{lost}, {doubled}",
            str(row.connections),
            str(row.excess),
            f"{row.busy:.1f}",
        )
    Console(width=int(os.environ.get("COLUMNS", "190"))).print(table)


def _mode(is_synchronous: bool) -> str:
    return "synchronous" if is_synchronous else "asynchronous"


if __name__ == "__main__":
    typer.run(main)
