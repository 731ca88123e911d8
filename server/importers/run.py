"""One import: read, check and write users batch by batch, each batch in its own transaction.

An interrupted import loses at most a batch and can be started again: present users are recognized by their ids.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from domain.data_import import organizations, store
from domain.data_import.eligibility import Eligibility, Field, ImportedUser, Known, Outcome, Problem
from domain.ports import Hasher
from server.database.sqlite.temporary_map import TemporaryMap
from server.importers import organizations as organizations_parse
from server.importers import parse, wrapping
from server.importers.parse import Rules
from server.importers.report import Report
from server.importers.source import Row, Source
from server.importers.values import Fields
from server.unit_of_work import UnitOfWork

Imported = TypeVar("Imported")
Outcomes = TypeVar("Outcomes")

BATCH = 200
"""Rows in one transaction."""


async def run(
    unit_of_work: UnitOfWork,
    source: Source,
    rules: Rules,
    report: Report,
    *,
    hasher: Hasher,
    claimed_keys: TemporaryMap | None = None,
    progress: Callable[[int], None],
) -> None:
    """Import every user of a source, and count the results in `report`.

    With `claimed_keys`, an empty map, it is a dry run: nothing is stored, and the map is filled with the identifiers
    that earlier rows would use. `hasher` wraps fast hashes of passwords. `progress` is called with the position in the
    source after each batch. Raises SourceRefused, and Unavailable.
    """
    async for rows in _batches(source.rows()):
        report.left_out.update(row.left_out for row in rows if row.left_out)
        batch = [row for row in rows if not row.left_out]
        read = [_read(row, partial(parse.read, rules=rules, fallback_id=row.source_id)) for row in batch]
        users = [user for user, _ in read if user is not None]
        job = partial(_stored, unit_of_work, claimed_keys, store.add, store.dry_run, without=rules.without)
        if claimed_keys is None and any(user.weak_hash for user in users):
            job = partial(_wrapped, unit_of_work, hasher, without=rules.without)
        results = iter(await job(batch=users) if users else ())
        for row, (user, problems) in zip(batch, read, strict=True):
            verdict = Eligibility(Outcome.REFUSED, problems) if user is None else next(results)
            report.add(row, user, verdict, (*problems, *row.notes))
        # A process that is killed must not lose what it has stored: a repeated import finds these users present.
        report.flush()
        progress(rows[-1].position)


async def run_organizations(
    unit_of_work: UnitOfWork,
    rows: AsyncIterator[Row],
    rules: Rules,
    report: Report,
    *,
    claimed_keys: TemporaryMap | None = None,
    progress: Callable[[int], None],
) -> None:
    """Import organizations, whose users must have been imported, each in its own transaction.

    `report`, `claimed_keys` and `progress` are as for `run`. Raises SourceRefused, and Unavailable.
    """
    async for row in rows:
        organization, problems = _read(row, partial(organizations_parse.read, rules=rules))
        verdict = Eligibility(Outcome.REFUSED, problems)
        if organization is not None:
            job = partial(_stored, unit_of_work, claimed_keys, organizations.add, organizations.dry_run)
            verdict = await job(organization=organization, without=rules.without)
        report.add(row, organization, verdict, problems)
        report.flush()
        progress(row.position)


async def _wrapped(
    unit_of_work: UnitOfWork, hasher: Hasher, batch: Sequence[ImportedUser], without: frozenset[Field]
) -> list[Eligibility]:
    """Wrap the fast hashes of a batch, and then store it.

    Only the hashes of users who will be stored are wrapped, so that repeating an import costs no hashing.
    """
    expected, _ = await unit_of_work.run(
        partial(store.dry_run, batch=batch, without=without, earlier=lambda keys: {})
    )
    new = [user for user, verdict in zip(batch, expected, strict=True) if verdict.outcome is Outcome.IMPORTED]
    users = await wrapping.wrap(hasher, new)
    results = iter(await unit_of_work.run(partial(store.add, batch=users, without=without)))
    return [next(results) if verdict.outcome is Outcome.IMPORTED else verdict for verdict in expected]


async def _stored(
    unit_of_work: UnitOfWork,
    claimed_keys: TemporaryMap | None,
    add: Callable[..., Awaitable[Outcomes]],
    dry_run: Callable[..., Awaitable[tuple[Outcomes, Known]]],
    **arguments: object,
) -> Outcomes:
    """Return the result of `add`; for a dry run that of `dry_run`, whose identifiers are claimed."""
    if claimed_keys is None:
        return await unit_of_work.run(partial(add, **arguments))
    results, claimed = await unit_of_work.run(partial(dry_run, **arguments, earlier=claimed_keys.find))
    claimed_keys.update(claimed)
    return results


async def _batches(rows: AsyncIterator[Row]) -> AsyncIterator[list[Row]]:
    batch: list[Row] = []
    async for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _read(
    row: Row, read: Callable[[Fields], tuple[Imported, tuple[Problem, ...]]]
) -> tuple[Imported | None, tuple[Problem, ...]]:
    """Return what is imported, or None, and why the row is refused, or which of its parts are left out."""
    try:
        if isinstance(row.fields, Problem):
            raise row.fields
        return read(row.fields)
    except Problem as problem:
        return None, (problem,)
