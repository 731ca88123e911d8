"""One import: read, check and write users batch by batch, each batch in its own transaction.

An interrupted import loses at most a batch and can be started again: present users are recognized by their ids.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from domain.data_import import organizations, store
from domain.data_import.eligibility import Eligibility, ImportedUser, Outcome, Problem
from domain.data_import.organizations import ImportedOrganization
from server.database.sqlite.temporary_map import TemporaryMap
from server.importers import organizations as organizations_parse
from server.importers import parse
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import Row, Source
from server.unit_of_work import UnitOfWork

BATCH = 200
"""Rows in one transaction."""


@dataclass(frozen=True, slots=True)
class Read:
    """A row, and its user or the reason why there is none."""

    row: Row
    user: ImportedUser | None
    problems: tuple[Problem, ...]
    """Why the row is refused, or which parts of its user are left out."""


async def run(
    unit_of_work: UnitOfWork,
    source: Source,
    rules: Rules,
    report: Report,
    *,
    claimed_keys: TemporaryMap | None = None,
    progress: Callable[[int], None],
) -> None:
    """Import every user of a source, or for a dry run (with `claimed_keys`) only report the expected results.

    `claimed_keys` stores the identifiers that earlier rows of the dry run would use, by the keys of
    `domain.data_import.eligibility.Known`. `progress` is called with the position after each batch. Raises
    SourceRefused, and Unavailable.
    """
    async for batch in _batches(source, rules):
        users = [read.user for read in batch if read.user is not None]
        results = iter(await _check(unit_of_work, users, rules, claimed_keys))
        for read in batch:
            if read.user is None:
                report.add(read.row, None, Eligibility(Outcome.REFUSED, read.problems))
            else:
                report.add(read.row, read.user, next(results), read.problems)
        progress(batch[-1].row.position)


async def run_organizations(
    unit_of_work: UnitOfWork,
    rows: AsyncIterator[Row],
    rules: Rules,
    report: Report,
    *,
    claimed_keys: TemporaryMap | None = None,
    progress: Callable[[int], None],
) -> None:
    """Import organizations, each in its own transaction, as `run` does users; their users are imported already.

    Raises SourceRefused, and Unavailable.
    """
    async for row in rows:
        try:
            if isinstance(row.fields, Problem):
                raise row.fields
            organization, left = organizations_parse.read(row.fields, rules)
        except Problem as problem:
            report.add(row, None, Eligibility(Outcome.REFUSED, (problem,)))
        else:
            verdict = await _check_organization(unit_of_work, organization, rules, claimed_keys)
            report.add(row, organization, verdict, left)
        progress(row.position)


async def _check_organization(
    unit_of_work: UnitOfWork,
    organization: ImportedOrganization,
    rules: Rules,
    claimed_keys: TemporaryMap | None,
) -> Eligibility:
    if claimed_keys is None:
        job = partial(organizations.add, organization=organization, without=rules.without)
        return await unit_of_work.run(job)
    rehearsal = partial(
        organizations.dry_run, organization=organization, without=rules.without, earlier=claimed_keys.find
    )
    verdict, claimed = await unit_of_work.run(rehearsal)
    claimed_keys.update(claimed)
    return verdict


async def _check(
    unit_of_work: UnitOfWork, users: Sequence[ImportedUser], rules: Rules, claimed_keys: TemporaryMap | None
) -> Sequence[Eligibility]:
    if not users:
        return []
    if claimed_keys is None:
        return await unit_of_work.run(partial(store.add, batch=users, without=rules.without))
    job = partial(store.dry_run, batch=users, without=rules.without, earlier=claimed_keys.find)
    results, claimed = await unit_of_work.run(job)
    claimed_keys.update(claimed)
    return results


async def _batches(source: Source, rules: Rules) -> AsyncIterator[list[Read]]:
    batch: list[Read] = []
    async for row in source.rows():
        batch.append(_read(row, rules))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _read(row: Row, rules: Rules) -> Read:
    try:
        if isinstance(row.fields, Problem):
            raise row.fields
        return Read(row, *parse.read(row.fields, rules, row.source_id))
    except Problem as problem:
        return Read(row, None, (problem,))
