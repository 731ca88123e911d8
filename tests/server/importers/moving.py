"""Steps of the tests that import: into a service in this process, and what came of it."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from domain.api_keys.policy import ApiKeyPolicy
from domain.data_import.eligibility import Field, ImportedUser, Outcome, Problem
from domain.organizations.policy import OrganizationPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.two_factor.policy import TwoFactorPolicy
from domain.users.policy import RolePolicy
from server.database.sqlite.temporary_map import temporary_map
from server.identity_providers.configuration import stored_issuers
from server.importers import parse, run
from server.importers.better_auth import better_auth
from server.importers.json_lines import JsonLines
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import Source
from server.importers.tables import opened
from tests.service import Service

HASH = "$2b$04$VTjpQSN.bvNPsx2qGVTcreOQQeXWGLHxx7xZeIU11H9SwBHaphsfK"
"""Of `correct horse`, by bcrypt."""
HASHED = "correct horse"
WITHOUT_ORGANIZATIONS = {
    f"GATEWRIGHT_ORGANIZATIONS__{name}": "false" for name in ("ENABLED", "TEAMS__ENABLED")
}
"""Environment variables of a command, as it is without further settings."""


def rules(
    service: Service, origin: str, *without: Field, providers: Iterable[str] = (), roles: Iterable[str] = ()
) -> Rules:
    """Return the rules of a command with these options; the real programs write the real time into their rows."""
    return Rules(
        now=datetime.now(UTC),
        issuers=stored_issuers(service.services.settings),
        mails_codes=service.services.policy[TwoFactorPolicy].otp_available,
        origin=origin,
        kinds=frozenset(service.services.policy[ApiKeyPolicy].kinds_of(organizations=False)),
        organization_kinds=frozenset(service.services.policy[ApiKeyPolicy].kinds_of(organizations=True)),
        organization_roles=frozenset(service.services.policy[OrganizationPolicy].roles),
        rp_id=service.services.policy[PasskeyPolicy].rp_id,
        roles=frozenset([service.services.policy[RolePolicy].default_role, *roles]),
        without=frozenset(without),
        without_providers=frozenset(providers),
    )


async def take(
    service: Service,
    source: Source,
    *without: Field,
    providers: Iterable[str] = (),
    roles: Iterable[str] = (),
    dry_run: bool = False,
) -> Report:
    """Import a source; return the report."""
    report, chosen = Report(), rules(service, source.origin, *without, providers=providers, roles=roles)
    with temporary_map() as store:
        rehearsal = store if dry_run else None
        await run.run(
            service.services.unit_of_work,
            source,
            chosen,
            report,
            hasher=service.services.hasher,
            claimed_keys=rehearsal,
            progress=lambda position: None,
        )
    return report


async def take_organizations(
    service: Service, url: str, *without: Field, secret: str = "", dry_run: bool = False
) -> tuple[Report, Report]:
    """Import users and organizations of a Better Auth database; return the report of each."""
    own = service.services.settings.database_url.get_secret_value()
    users, organizations = Report(), Report()
    async with opened(url, own) as database:
        source = await better_auth(database, [secret] if secret else [])
        chosen = rules(service, source.origin, *without, providers=["test"])
        with temporary_map() as store:
            claimed_keys = store if dry_run else None
            unit_of_work = service.services.unit_of_work
            await run.run(
                unit_of_work,
                source,
                chosen,
                users,
                hasher=service.services.hasher,
                claimed_keys=claimed_keys,
                progress=lambda position: None,
            )
            await run.run_organizations(
                unit_of_work,
                source.organization_rows(chosen.now),
                chosen,
                organizations,
                claimed_keys=claimed_keys,
                progress=lambda position: None,
            )
    return users, organizations


def write_lines(path: Path, rows: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """Write rows as JSON lines; bytes as they are."""
    lines = (row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


async def take_lines(
    service: Service, path: Path, rows: Iterable[Mapping[str, Any] | bytes], *without: Field, **options: Any
) -> Report:
    """Import rows by way of a file."""
    with write_lines(path, rows).open("rb") as file:
        return await take(service, JsonLines(file), *without, **options)


async def refusals(path: Path, rows: Iterable[Mapping[str, Any] | bytes]) -> list[str]:
    """Return why rows are refused before any database is asked."""
    with write_lines(path, rows).open("rb") as file:
        return [each for each in await parsed(JsonLines(file)) if isinstance(each, str)]


async def parsed(source: Source, roles: Iterable[str] = ()) -> list[ImportedUser | str]:
    """Return each user of a source, or why it is refused before any database is asked."""
    chosen = Rules(
        datetime.now(UTC), issuers={}, mails_codes=True, origin=source.origin, roles=frozenset(roles)
    )
    found: list[ImportedUser | str] = []
    async for row in source.rows():
        try:
            if isinstance(row.fields, Problem):
                raise row.fields
            found.append(parse.read(row.fields, chosen, row.source_id)[0])
        except Problem as problem:
            found.append(str(problem))
    return found


def counts(report: Report) -> tuple[int, int, int]:
    """Return how many rows were imported, were there already, were refused."""
    imported, present, refused = (report.outcomes[name] for name in Outcome)
    return imported, present, refused
