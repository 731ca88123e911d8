"""`gatewright import`: Import users of another program, with their passwords."""

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
from functools import partial
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
from server.importers.better_auth import BetterAuth, better_auth
from server.importers.fastapi_users import fastapi_users
from server.importers.json_lines import JsonLines
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import Source
from server.importers.tables import SourceDatabase
from server.observability import logs
from server.services import opened

app = typer.Typer(
    help="Import users of another program, with their passwords.\n\nExit status 3: some rows were refused.",
    no_args_is_help=True,
)

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


@app.command("better-auth")
def _better_auth(
    from_: From,
    secret_file: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="File with BETTER_AUTH_SECRET, to import second factors; can be repeated for several secrets.",
        ),
    ] = None,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users and organizations of a Better Auth database.

    Example: gatewright import better-auth --from sqlite:///old.db --secret-file secret.txt --dry-run
    """
    # From a file, because every user of the machine can read the arguments of a process.
    secrets = [_secret(path) for path in secret_file or ()]
    _run(
        _in_tables(from_, partial(better_auth, secrets=secrets)),
        Options(dry_run, report, ids, without, without_provider),
    )


@app.command("fastapi-users")
def _fastapi_users(
    from_: From,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users of a fastapi-users database.

    Example: gatewright import fastapi-users --from postgresql://localhost/app --dry-run
    """
    _run(_in_tables(from_, fastapi_users), Options(dry_run, report, ids, without, without_provider))


@app.command("json-lines")
def _json_lines(
    file: Annotated[
        Path,
        typer.Argument(dir_okay=False, metavar="FILE", help="One JSON object per line; - is standard input."),
    ],
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Import the users in a file of JSON lines.

    Example: gatewright import json-lines users.jsonl --report refused.jsonl
    """

    @asynccontextmanager
    async def open_source(_: Settings) -> AsyncIterator[Source]:
        with _stream(file) as stream:
            yield JsonLines(stream)

    _run(open_source, Options(dry_run, report, ids, without, without_provider))


def _stream(file: Path) -> AbstractContextManager[BinaryIO]:
    with file_errors(str(file)):
        return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def _in_tables(url: str, take: Callable[[SourceDatabase], Awaitable[Source]]) -> Open:
    """Return a function that opens the database of another program and its users."""

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        async with tables.opened(url, settings.database_url.get_secret_value()) as database:
            yield await take(database)

    return open_source


def _secret(path: Path) -> str:
    with file_errors(f"--secret-file: {path}"):
        return path.read_text("utf-8").strip()


def _run(open_source: Open, options: Options) -> None:
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
        tables = source.organizations if isinstance(source, BetterAuth) else None
        with temporary_map() if options.dry_run else nullcontext() as claimed_keys:
            with _progress(source.total) as progress:
                await run.run(
                    services.unit_of_work, source, rules, report, claimed_keys=claimed_keys, progress=progress
                )
            if not isinstance(source, BetterAuth) or tables is None:
                return 0
            if not policy.enabled:
                return tables.total
            with _progress(tables.total) as progress:
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
    if report.refused and options.report is None:
        yield "--report FILE lists these rows."


def _reasons(title: str, reasons: Mapping[str, int]) -> Iterator[str]:
    if reasons:
        yield title
    for text, number in Counter(reasons).most_common(REASONS_SHOWN):
        yield f"{number:>10}  {text}"
    if len(reasons) > REASONS_SHOWN:
        yield f"{'':>10}  and {count(len(reasons) - REASONS_SHOWN, 'other reason')}"
