"""`gatewright import`: users of other programs move in."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from domain.data_import.eligibility import Field, Outcome
from domain.two_factor.policy import TwoFactorPolicy
from server.cli import check_config
from server.cli.private_files import created
from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.database.sqlite.temporary_map import temporary_map
from server.identity_providers.configuration import stored_issuers
from server.importers import better_auth as of_better_auth
from server.importers import fastapi_users as of_fastapi_users
from server.importers import run, tables
from server.importers.json_lines import JsonLines
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import Source
from server.importers.tables import SourceDatabase
from server.observability import logs
from server.services import opened

app = typer.Typer(
    help="Take over the users of another program, with their passwords. Exit status 3: some rows were refused.",
    no_args_is_help=True,
)

SOME_REFUSED = 3
"""The exit status of a run that went to its end and refused rows."""
REASONS_SHOWN = 20

Open = Callable[[Settings], AbstractAsyncContextManager[Source]]

From = Annotated[
    str,
    typer.Option(
        "--from", metavar="URL", help="Its database: sqlite:///… or postgresql://…; it is only read."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write no user; say what would become of each row.")]
ReportFile = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE", help="Write each refused row and why, as JSON lines (mode 0600)."
    ),
]
IdsFile = Annotated[
    str | None,
    typer.Option("--ids", metavar="FILE", help="Write the id of each user there and here, as JSON lines."),
]
Without = Annotated[
    list[Field] | None,
    typer.Option(
        "--without", help="Take users without this where it cannot be taken over, instead of refusing them."
    ),
]
WithoutProvider = Annotated[
    list[str] | None,
    typer.Option("--without-provider", metavar="ID", help="Leave out the accounts at this provider."),
]
SecretFile = Annotated[
    list[Path] | None,
    typer.Option(
        "--secret-file",
        exists=True,
        dir_okay=False,
        help="A file with BETTER_AUTH_SECRET, to take over second factors; several are tried in turn.",
    ),
]


@dataclass(frozen=True, slots=True)
class Options:
    """How one run is to be done."""

    dry_run: bool
    report: str | None
    ids: str | None
    without: frozenset[Field]
    without_providers: frozenset[str]


@app.command("better-auth")
def better_auth(
    from_: From,
    secret_file: SecretFile = None,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Take over the users of a Better Auth database."""
    secrets = [_secret(path) for path in secret_file or ()]
    take = partial(of_better_auth.better_auth, secrets=secrets)
    _run(_in_tables(from_, take), _options(dry_run, report, ids, without, without_provider))


@app.command("fastapi-users")
def fastapi_users(
    from_: From,
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Take over the users of a fastapi-users database."""
    _run(
        _in_tables(from_, of_fastapi_users.fastapi_users),
        _options(dry_run, report, ids, without, without_provider),
    )


@app.command("json-lines")
def json_lines(
    file: Annotated[
        typer.FileBinaryRead, typer.Argument(help="One JSON object per line; - is standard input.")
    ],
    dry_run: DryRun = False,
    report: ReportFile = None,
    ids: IdsFile = None,
    without: Without = None,
    without_provider: WithoutProvider = None,
) -> None:
    """Take over the users of a file, in the format of the guide."""
    source = JsonLines(file)
    _run(lambda _: nullcontext(source), _options(dry_run, report, ids, without, without_provider))


def _in_tables(url: str, take: Callable[[SourceDatabase], Awaitable[Source]]) -> Open:
    """Return what opens another program's database, and takes the users from it."""

    @asynccontextmanager
    async def open_source(settings: Settings) -> AsyncIterator[Source]:
        async with tables.opened(url, settings.database_url.get_secret_value()) as database:
            yield await take(database)

    return open_source


def _options(
    dry_run: bool,
    report: str | None,
    ids: str | None,
    without: list[Field] | None,
    without_provider: list[str] | None,
) -> Options:
    return Options(dry_run, report, ids, frozenset(without or ()), frozenset(without_provider or ()))


def _secret(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError) as fault:
        raise ConfigurationError(f"--secret-file: {path}: {fault}") from None


def _run(open_source: Open, options: Options) -> None:
    settings = check_config.read()
    if settings.log.level in ("debug", "info"):
        logs.configure("warning", settings.log.format)  # A line for every user would bury the report.
    with created("--report", options.report) as file, created("--ids", options.ids) as ids:
        report = Report(file, ids)
        asyncio.run(_import(settings, open_source, options, report))
    for line in _summary(report, options):
        typer.echo(line)
    if report.outcomes[Outcome.REFUSED]:
        raise typer.Exit(SOME_REFUSED)


async def _import(settings: Settings, open_source: Open, options: Options, report: Report) -> None:
    async with open_source(settings) as source, opened(settings) as services:
        rules = Rules(
            now=services.clock(),
            issuers=stored_issuers(settings),
            mails_codes=services.policy[TwoFactorPolicy].otp_available,
            origin=source.origin,
            without=options.without,
            without_providers=options.without_providers,
        )
        with (
            _progress(source.total) as progress,
            temporary_map() if options.dry_run else nullcontext() as claimed_keys,
        ):
            await run.run(
                services.unit_of_work, source, rules, report, claimed_keys=claimed_keys, progress=progress
            )


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show on standard error how far it is, where somebody looks at that."""
    columns = (TextColumn("Importing"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=total)
        yield lambda position: bar.update(task, completed=position)


def _summary(report: Report, options: Options) -> Iterator[str]:
    """Yield the lines that tell the operator how it went."""
    done = "would be imported" if options.dry_run else "imported"
    counts = report.outcomes
    yield (
        f"{report.rows} rows: {counts[Outcome.IMPORTED]} {done}, {counts[Outcome.PRESENT]} there already,"
        f" {counts[Outcome.REFUSED]} refused."
    )
    yield from _reasons("Refused:", report.refused)
    yield from _reasons("Taken without:", report.left)
    if report.refused and options.report is None:
        yield "Which rows these are is told with --report FILE."


def _reasons(title: str, reasons: Mapping[str, int]) -> Iterator[str]:
    if reasons:
        yield title
    for reason, number in Counter(reasons).most_common(REASONS_SHOWN):
        yield f"{number:>10}  {reason}"
    if len(reasons) > REASONS_SHOWN:
        yield f"{'':>10}  and {len(reasons) - REASONS_SHOWN} other reasons"
