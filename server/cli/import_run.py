"""The run of an import: options that all its commands have, the files and databases they open, and the summary."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from domain.api_keys.policy import ApiKeyPolicy
from domain.data_import.eligibility import Field, Outcome
from domain.organizations.policy import OrganizationPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.two_factor.policy import TwoFactorPolicy
from server.cli import check_config
from server.cli.options import created
from server.cli.output import count
from server.config.base import Settings
from server.config.groups.observability import LogSettings
from server.config.sources import file_errors
from server.database.sqlite.temporary_map import temporary_map
from server.identity_providers.configuration import stored_issuers
from server.importers import run, tables
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import OrganizationSource, Source
from server.importers.tables import SourceDatabase
from server.observability import logs
from server.services import opened

SOME_REFUSED = 3
"""The exit status of a run that finished and refused rows."""
REASONS_SHOWN = 20

Open = Callable[[Settings], AbstractAsyncContextManager[Source]]

From = Annotated[
    str,
    typer.Option(
        "--from", metavar="URL", help="Its database: sqlite:///… or postgresql://…; it is only read."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Write nothing; report what would happen to each row.")
]
ReportFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write each refused row with the reason, as JSON lines (mode 0600)."),
]
IdsFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the old and the new id of each user, as JSON lines.")
]
Without = Annotated[
    list[Field] | None,
    typer.Option(
        metavar="PART",
        help=f"Import rows without a part that is invalid ({', '.join(Field)}), instead of refusing them.",
    ),
]
WithoutProvider = Annotated[
    list[str] | None, typer.Option(metavar="PROVIDER", help="Leave out the accounts of this provider.")
]


@dataclass(frozen=True, slots=True)
class Options:
    """The values of the options that all import commands have."""

    dry_run: bool
    report: str | None
    ids: str | None
    without: list[Field] | None
    without_provider: list[str] | None


def open_file(file: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file for reading, or standard input for `-`. Raises ConfigurationError."""
    with file_errors(str(file)):
        return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def in_tables(
    url: str, take: Callable[[SourceDatabase], Awaitable[Source]], schema: str | None = None
) -> Open:
    """Return a function that opens the database of another program and its users."""

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        async with tables.opened(url, settings.database_url.get_secret_value(), schema) as database:
            yield await take(database)

    return open_source


def secret(option: str, path: Path) -> str:
    """Return what a file has, without the spaces around it. Raises ConfigurationError."""
    with file_errors(f"{option}: {path}"):
        return path.read_text("utf-8").strip()


def run_import(open_source: Open, options: Options) -> None:
    """Import the users of a source, and print a summary. Raises typer.Exit if rows were refused."""
    settings = check_config.read()
    log = settings[LogSettings]
    if log.level in ("debug", "info"):
        logs.configure("warning", log.format)  # A line for every user would hide the report.
    with created("--report", options.report) as file, created("--ids", options.ids) as ids:
        users, organizations = Report(file, ids), Report(file, ids)
        left_out = asyncio.run(_import(settings, open_source, options, users, organizations))
    for line in _summary(users, options):
        typer.echo(line)
    if organizations.rows:
        for line in _summary(organizations, options, "organization"):
            typer.echo(line)
    if left_out:
        typer.echo(f"{count(left_out, 'organization')} left out: organizations.enabled is false.")
    if users.outcomes[Outcome.REFUSED] or organizations.outcomes[Outcome.REFUSED]:
        raise typer.Exit(SOME_REFUSED)


async def _import(
    settings: Settings, open_source: Open, options: Options, report: Report, organizations: Report
) -> int:
    """Import users, and then organizations; return how many organizations are left out."""
    async with open_source(settings) as source, opened(settings) as services:
        policy = services.policy[OrganizationPolicy]
        rules = Rules(
            now=services.clock(),
            issuers=stored_issuers(settings),
            mails_codes=services.policy[TwoFactorPolicy].otp_available,
            origin=source.origin,
            kinds=frozenset(services.policy[ApiKeyPolicy].kinds_of(organizations=False)),
            organization_kinds=frozenset(services.policy[ApiKeyPolicy].kinds_of(organizations=True)),
            organization_roles=frozenset(policy.roles),
            rp_id=services.policy[PasskeyPolicy].rp_id,
            without=frozenset(options.without or ()),
            without_providers=frozenset(options.without_provider or ()),
        )
        with temporary_map() if options.dry_run else nullcontext() as claimed_keys:
            with _progress(source.total) as progress:
                await run.run(
                    services.unit_of_work,
                    source,
                    rules,
                    report,
                    hasher=services.hasher,
                    claimed_keys=claimed_keys,
                    progress=progress,
                )
            if not isinstance(source, OrganizationSource) or (total := source.organization_total) is None:
                return 0
            if not policy.enabled:
                return total
            with _progress(total) as progress:
                await run.run_organizations(
                    services.unit_of_work,
                    source.organization_rows(rules.now),
                    rules,
                    organizations,
                    claimed_keys=claimed_keys,
                    progress=progress,
                )
    return 0


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error if it is a terminal."""
    columns = (TextColumn("Importing"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=total)
        yield lambda position: bar.update(task, completed=position)


def _summary(report: Report, options: Options, noun: str = "row") -> Iterator[str]:
    """Yield the lines that summarize a run over users, or over what `noun` says."""
    done = "would be imported" if options.dry_run else "imported"
    counts = report.outcomes
    yield (
        f"{count(report.rows, noun)}: {counts[Outcome.IMPORTED]} {done}, {counts[Outcome.PRESENT]} already present,"
        f" {counts[Outcome.REFUSED]} refused."
    )
    yield from _reasons("Refused:", report.refused)
    yield from _reasons("Imported without:", report.left)
    yield from _reasons("Left out:", report.left_out)
    if report.refused and options.report is None:
        yield "--report FILE lists these rows."


def _reasons(title: str, reasons: Mapping[str, int]) -> Iterator[str]:
    if reasons:
        yield title
    for text, number in Counter(reasons).most_common(REASONS_SHOWN):
        yield f"{number:>10}  {text}"
    if len(reasons) > REASONS_SHOWN:
        yield f"{'':>10}  and {count(len(reasons) - REASONS_SHOWN, 'other reason')}"
