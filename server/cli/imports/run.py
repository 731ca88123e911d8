"""The run of an import: its rules, the progress and the summary."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from domain.api_keys.policy import ApiKeyPolicy
from domain.data_import.eligibility import Outcome
from domain.errors import Overloaded, Unavailable
from domain.organizations.policy import OrganizationPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.two_factor.policy import TwoFactorPolicy
from domain.users.policy import RolePolicy
from server.cli import check_config
from server.cli.imports.source import Open, Options
from server.cli.options import created
from server.cli.output import count
from server.config.base import Settings
from server.config.groups.admin import AdminSettings
from server.config.groups.observability import LogSettings
from server.config.sources import ConfigurationError
from server.database.address import parse
from server.database.database import DatabaseAbsent
from server.database.sqlite.temporary_map import temporary_map
from server.identity_providers.configuration import stored_issuers
from server.importers import run
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import OrganizationSource, SourceRefused
from server.observability import logs
from server.services import opened

SOME_REFUSED = 3
"""The exit status of a run that finished and refused rows."""
INTERRUPTED = 130
"""The exit status of a run that Ctrl-C ended."""
REASONS_SHOWN = 20


def run_import(open_source: Open, options: Options) -> None:
    """Import the users and organizations of a source, and print a summary.

    Raises typer.Exit, with `SOME_REFUSED` if rows were refused and `INTERRUPTED` after Ctrl-C; ConfigurationError,
    SourceRefused, DatabaseAbsent, SchemaRefused.
    """
    settings = check_config.read()
    _check_roles(options.role or (), settings)
    log = settings[LogSettings]
    if log.level in ("debug", "info"):
        logs.configure("warning", log.format)  # A line for every user would hide the report.
    if options.report is not None and options.ids is not None and _are_same(options.report, options.ids):
        raise ConfigurationError("--ids: is the file of --report")
    with created("--report", options.report) as file, created("--ids", options.ids) as ids:
        users, organizations = Report(file, ids), Report(file, ids)
        with _resumable(settings, users, options):
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


def _are_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def _resumable(settings: Settings, users: Report, options: Options) -> Iterator[None]:
    """Add to the error of an import that has stored users that the same command resumes it.

    Raises SourceRefused, DatabaseAbsent, and typer.Exit for a run that is interrupted.
    """
    try:
        yield
    except SourceRefused as fault:
        raise SourceRefused(f"{fault}{_advice(users, options)}") from fault
    except Overloaded:
        raise
    except Unavailable as fault:
        label = parse(settings.database_url.get_secret_value()).label
        raise DatabaseAbsent(f"the database {label} does not respond{_advice(users, options)}") from fault
    except KeyboardInterrupt:
        typer.echo(f"Interrupted.{_advice(users, options)}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _advice(users: Report, options: Options) -> str:
    has_stored = users.outcomes[Outcome.IMPORTED] and not options.dry_run
    return "\nRun the command again: it resumes." if has_stored else ""


def _check_roles(named: Collection[str], settings: Settings) -> None:
    """Check that the roles are configured. Raises ConfigurationError."""
    known = ("admin", "user", *settings[AdminSettings].roles)
    for role in named:
        if role not in known:
            raise ConfigurationError(f"--role: {role} is not one of admin.roles")


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
            roles=frozenset([services.policy[RolePolicy].default_role, *(options.role or ())]),
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
    if noun == "row":
        for name in sorted(set(options.without_provider or ()) - report.providers):
            yield f"--without-provider {name}: no user has an account there."
    if report.refused and options.report is None:
        yield "--report FILE lists these rows."


def _reasons(title: str, reasons: Mapping[str, int]) -> Iterator[str]:
    if reasons:
        yield title
    for text, number in Counter(reasons).most_common(REASONS_SHOWN):
        yield f"{number:>10}  {text}"
    if len(reasons) > REASONS_SHOWN:
        yield f"{'':>10}  and {count(len(reasons) - REASONS_SHOWN, 'other reason')}"
